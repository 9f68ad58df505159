/** The places of the dashboard and the screens in them: the frame, the palette, the help and the routes read them here. */
import type { IconName } from './icons.tsx'
import { t } from '../texts/texts.tsx'

/** One screen, at an address of its own. */
export interface View {
  href: string
  name: string
  /** The actions without which the server refuses its list. */
  needs: readonly string[]
  /** Whether its list is filtered by its address, which is worth saving. */
  isSaved?: true
  /** The letter that follows `g`. */
  key?: string
}

export interface Place {
  name: string
  icon: IconName
  views: readonly [View, ...View[]]
  /** Beginnings of the addresses below it that are in no view. */
  under?: readonly string[]
}

export const places: readonly Place[] = [
  {
    name: t('Insights'),
    icon: 'insights',
    views: [
      {
        href: '/insights',
        name: t('Insights'),
        isSaved: true,
        needs: ['generations:List', 'approvals:List', 'toolCalls:List'],
        key: 'h',
      },
    ],
  },
  {
    name: t('Inbox'),
    icon: 'inbox',
    views: [
      { href: '/approvals', name: t('Waiting'), isSaved: true, needs: [], key: 'i' },
      { href: '/approvals?view=decided', name: t('Decided'), isSaved: true, needs: ['approvals:List'] },
      { href: '/unknown', name: t('Unknown calls'), needs: ['toolCalls:List'], key: 'u' },
      { href: '/approvals?view=grants', name: t('Grants'), needs: ['grants:List'] },
    ],
  },
  {
    name: t('Activity'),
    icon: 'runs',
    views: [
      { href: '/runs', name: t('Runs'), isSaved: true, needs: ['generations:List'], key: 'r' },
      { href: '/audit', name: t('Audit'), isSaved: true, needs: ['audit:List'] },
      { href: '/callbacks', name: t('Callbacks'), needs: ['webhooks:List'] },
    ],
  },
  {
    name: t('Catalogue'),
    icon: 'tools',
    views: [
      { href: '/tools', name: t('Tools'), isSaved: true, needs: ['tools:List'], key: 't' },
      { href: '/agents', name: t('Agents'), needs: ['agents:List'], key: 'a' },
    ],
    under: ['/upstreams'],
  },
  {
    name: t('People'),
    icon: 'agents',
    views: [
      { href: '/people', name: t('Members'), needs: ['keys:List'], key: 'p' },
      { href: '/people/programs', name: t('Programs'), needs: ['keys:List'] },
      { href: '/people/sessions', name: t('Sessions'), needs: [] },
    ],
  },
  {
    name: t('Settings'),
    icon: 'settings',
    views: [
      { href: '/settings', name: t('Project'), needs: ['projects:Get'], key: 's' },
      { href: '/settings/providers', name: t('Providers'), needs: ['providers:List'] },
      { href: '/settings/secrets', name: t('Secrets'), needs: ['secrets:List'] },
      { href: '/settings/webhooks', name: t('Webhooks'), needs: ['webhooks:List'] },
      { href: '/settings/slack', name: t('Slack'), needs: ['slack:Get'] },
      { href: '/settings/files', name: t('Files'), needs: ['files:List'] },
      { href: '/settings/retention', name: t('Retention'), needs: ['retention:Get'] },
    ],
  },
]

/** Where the screens of the release before are now, by the last part of their address below /operations. */
export const formerTabs: Readonly<Record<string, string>> = {
  unknown: '/unknown',
  keys: '/people',
  sessions: '/people/sessions',
  audit: '/audit',
  statistics: '/insights',
  ...Object.fromEntries(
    ['secrets', 'webhooks', 'slack', 'providers', 'files', 'retention'].map((tab) => [
      tab,
      `/settings/${tab}`,
    ]),
  ),
}

/** The place of an address, and the view in it: of several the longest, so that /settings/slack is not /settings. */
export function placeAt(path: string, search: string): { place: Place; view: View | null } | null {
  const shown = new URLSearchParams(search).get('view')
  let found: { place: Place; view: View | null; length: number } | null = null
  for (const place of places) {
    for (const view of place.views) {
      const [own = '', query] = view.href.split('?')
      const isHere = path === own || path.startsWith(`${own}/`)
      if (!isHere || (query !== undefined && query !== `view=${shown}`)) continue
      if (view.href.length > (found?.length ?? 0)) found = { place, view, length: view.href.length }
    }
    if (place.under?.some((one) => path.startsWith(one))) found ??= { place, view: null, length: 0 }
  }
  return found
}
