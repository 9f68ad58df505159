/** The inbox: what waits for a person, what was decided, and what was granted. */
import './inbox.css'
import { lazy } from 'react'
import { useSearch } from 'wouter'
import { Waiting } from './waiting.tsx'
import { t } from '../../texts/texts.tsx'

const Decided = lazy(async () => ({ default: (await import('./decided.tsx')).DecisionList }))
const Grants = lazy(async () => ({ default: (await import('./grants.tsx')).Grants }))

export function Inbox({ id }: { id: string | null }) {
  const search = useSearch()
  const view = new URLSearchParams(search).get('view') ?? 'waiting'
  return (
    <>
      <h1 className="sr-only">{t('Inbox')}</h1>
      {view === 'decided' && !id ? <Decided /> : view === 'grants' && !id ? <Grants /> : <Waiting id={id} />}
    </>
  )
}
