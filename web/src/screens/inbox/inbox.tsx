/** The inbox: what waits for a person, what was decided, and what was granted. */
import './inbox.css'
import { lazy } from 'react'
import { useSearch } from 'wouter'
import { SegmentLinks } from '../../parts/segments.tsx'
import { Waiting } from './waiting.tsx'
import { t } from '../../texts/texts.tsx'

const Decided = lazy(async () => ({ default: (await import('./decided.tsx')).DecisionList }))
const Grants = lazy(async () => ({ default: (await import('./grants.tsx')).Grants }))

const views = [
  { view: 'waiting', name: t('Waiting'), href: '/approvals' },
  { view: 'decided', name: t('Decided'), href: '/approvals?view=decided' },
  { view: 'grants', name: t('Grants'), href: '/approvals?view=grants' },
] as const

export function Inbox({ id }: { id: string | null }) {
  const search = useSearch()
  const view = new URLSearchParams(search).get('view') ?? 'waiting'
  return (
    <>
      <header className={id ? 'screen-head has-chosen' : 'screen-head'}>
        <h1>{t('Inbox')}</h1>
        <SegmentLinks
          label={t('Views')}
          links={views.map((one) => ({ ...one, isCurrent: one.view === view }))}
        />
      </header>
      {view === 'decided' && !id ? <Decided /> : view === 'grants' && !id ? <Grants /> : <Waiting id={id} />}
    </>
  )
}
