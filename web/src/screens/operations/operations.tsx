/** What keeps the installation running: unknown calls, keys, secrets, webhooks, Slack, providers, files, sessions, audit, statistics, retention. */
import './operations.css'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { currentProject } from '../../api/session.ts'
import { PauseButton } from '../../parts/pause.tsx'
import { SegmentLinks } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { Audit } from './audit.tsx'
import { Files } from './files.tsx'
import { Keys } from './keys.tsx'
import { Providers } from './providers.tsx'
import { Retention } from './retention/retention.tsx'
import { Secrets } from './secrets.tsx'
import { Sessions } from './sessions.tsx'
import { Slack } from './slack/slack.tsx'
import { Statistics } from './statistics/statistics.tsx'
import { UnknownCalls } from './unknown-calls.tsx'
import { Webhooks } from './webhooks/webhooks.tsx'
import { t } from '../../texts/texts.tsx'

const tabs = [
  { tab: 'unknown', name: t('Unknown calls'), Screen: UnknownCalls },
  { tab: 'keys', name: t('Keys'), Screen: Keys },
  { tab: 'secrets', name: t('Secrets'), Screen: Secrets },
  { tab: 'webhooks', name: t('Webhooks'), Screen: Webhooks },
  { tab: 'slack', name: t('Slack'), Screen: Slack },
  { tab: 'providers', name: t('Providers'), Screen: Providers },
  { tab: 'files', name: t('Files'), Screen: Files },
  { tab: 'sessions', name: t('Sessions'), Screen: Sessions },
  { tab: 'audit', name: t('Audit'), Screen: Audit },
  { tab: 'statistics', name: t('Statistics'), Screen: Statistics },
  { tab: 'retention', name: t('Retention'), Screen: Retention },
] as const

export function Operations({ tab }: { tab: string }) {
  const shown = tabs.find((one) => one.tab === tab)
  const nav = useRef<HTMLElement>(null)
  // On a phone the tabs scroll: the one that is open is seen.
  useEffect(() => {
    const at = tabs.findIndex((one) => one.tab === tab)
    const show = () => {
      const all = nav.current?.getBoundingClientRect()
      const open = nav.current?.children[at]?.getBoundingClientRect()
      if (all && open) nav.current!.scrollLeft += open.left - all.left - (all.width - open.width) / 2
    }
    show()
    addEventListener('resize', show)
    return () => removeEventListener('resize', show)
  }, [tab])
  return (
    <>
      <header className="screen-head">
        <h1>{t('Operations')}</h1>
        <PauseButton
          target={{ projectId: currentProject() }}
          word={t('Pause everything')}
          effect={t('Nothing in this project calls a model or sends a tool call.')}
        />
        <SegmentLinks
          label={t('Operations')}
          nav={nav}
          links={tabs.map((one) => ({
            href: `/operations/${one.tab}`,
            name: one.name,
            isCurrent: one === shown,
          }))}
        />
      </header>
      <div className="screen-body">
        {shown ? (
          <shown.Screen />
        ) : (
          <Empty title={t('Page not found')}>
            <Link href="/operations/unknown">{t('Unknown calls')}</Link>
          </Empty>
        )}
      </div>
    </>
  )
}
