/** What the palette does besides leading to places: each act by its name and by the words that people look for. */
import type { Viewer } from '../api/viewer.ts'
import { kinds } from '../parts/kinds.ts'
import { chooseLanguage, language, languages, t, type Language } from '../texts/texts.tsx'
import { chooseTheme, themes, themeText } from './theme.tsx'

/** What can be chosen. */
export interface Choice {
  key: string
  name: string
  /** What it is, in a word. */
  kind: string
  /** An address that is opened, the dialog that pauses the project, or what is done at once. */
  does: string | 'pause' | (() => void)
}

interface Act extends Omit<Choice, 'key' | 'kind'> {
  /** The action that it takes; null: everybody may. */
  needs: string | null
  /** By what else it is found. */
  words?: string
}

const acts: readonly Act[] = [
  {
    name: t('Invite a person'),
    does: '/people?new=key',
    needs: 'keys:Create',
    words: t('new member, user, approver'),
  },
  { name: t('New key'), does: '/people/programs?new=key', needs: 'keys:Create', words: t('API token') },
  { name: t('Pause everything'), does: 'pause', needs: 'projects:Pause', words: t('stop, emergency') },
  { name: t('Start a run'), does: '/runs?new=run', needs: 'generations:Start' },
  {
    name: t('New {kind}', { kind: kinds.tool }),
    does: '/tools/new',
    needs: 'tools:Create',
    words: t('HTTP, curl, client'),
  },
  { name: t('Import an API'), does: '/tools/import', needs: 'tools:Create', words: 'OpenAPI Swagger' },
  {
    name: t('New {kind}', { kind: kinds.upstream }),
    does: '/upstreams/new',
    needs: 'tools:Create',
    words: t('MCP server'),
  },
  { name: t('New {kind}', { kind: kinds.agent }), does: '/agents/new', needs: 'agents:Create' },
  {
    name: t('Schedule runs'),
    does: '/agents',
    needs: 'triggers:Create',
    words: t('trigger, cron, every day, signed messages'),
  },
  {
    name: t('New webhook'),
    does: '/settings/webhooks?new=webhook',
    needs: 'webhooks:Create',
    words: t('e-mail, notify'),
  },
  { name: t('New provider'), does: '/settings/providers?new=provider', needs: 'providers:Set' },
  { name: t('New secret'), does: '/settings/secrets?new=secret', needs: 'secrets:Set' },
  { name: t('Place a hold'), does: '/settings/retention?new=hold', needs: 'retention:Hold' },
  ...themes.map((theme) => ({
    name: themeText(theme),
    does: () => chooseTheme(theme),
    needs: null,
    words: t('theme, mode'),
  })),
  ...(Object.keys(languages) as Language[])
    .filter((one) => one !== language)
    .map((one) => ({
      name: t('Language: {name}', { name: languages[one] }),
      does: () => chooseLanguage(one),
      needs: null,
    })),
]

/** By what else people look for screens, by their addresses. */
export const screenWords: Readonly<Record<string, string>> = {
  '/insights': t('cost, spending, statistics, charts'),
  '/runs': t('generations, history'),
  '/audit': t('who did what, log'),
  '/tools': t('gates, upstreams, MCP'),
  '/people': t('roles, users'),
  '/people/programs': t('API keys'),
  '/settings/providers': t('models, API keys'),
  '/settings/webhooks': t('e-mail, notify'),
  '/settings/retention': t('delete old data, legal holds'),
}

/** The acts that have the text in their name or words, and that this person may. */
export function actsFor(wanted: string, viewer: Viewer | null): Choice[] {
  return acts
    .filter(({ needs }) => needs === null || viewer?.may(needs))
    .filter(({ name, words = '' }) => `${name} ${words}`.toLowerCase().includes(wanted))
    .map(({ name, does }) => ({ key: name, name, does, kind: t('action') }))
}
