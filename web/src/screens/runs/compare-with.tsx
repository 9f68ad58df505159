/** The choice of the run that another one is compared with. */
import { useState } from 'react'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { Badge } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SearchField } from '../../parts/filters.tsx'
import { Ago } from '../../parts/moments.tsx'
import { compareHref } from '../../parts/run/choice.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { runsQuery } from './documents.ts'
import { t } from '../../texts/texts.tsx'

/** First what it was started from and what was started from it, then the newest runs of its agent, or what a search finds. */
export function CompareWith({ run, onClose }: { run: Run; onClose(): void }) {
  const [text, setText] = useState('')
  const search = text.trim()
  const filter = search === '' ? { agentId: run.agent?.id ?? null } : { search }
  const { nodes, error, isLoading, reload } = usePages(runsQuery, { filter })
  const rows = new Map(nodes.map((node) => [node.id, node]))
  const kin = new Map([
    ...(run.retryOf ? [[run.retryOf.id, t('the run before')] as const] : []),
    ...(run.retries?.nodes ?? []).map(({ id }) => [id, t('a retry')] as const),
  ])
  const ids = [...new Set([...(search === '' ? kin.keys() : []), ...rows.keys()])]
  const others = ids.filter((id) => id !== run.id)
  return (
    <Dialog title={t('Compare with another run')} onClose={onClose}>
      <div className="stack">
        <SearchField label={t('Search or paste an id')} value={text} most={200} onChange={setText} />
        {error !== null && <Failure error={error} retry={reload} />}
        {isLoading && <Skeleton />}
        {!isLoading && others.length === 0 && <p className="mute">{t('No matching runs')}</p>}
        <ul className="lined" aria-label={t('Runs')}>
          {others.map((id) => {
            const row = rows.get(id)
            return (
              <li key={id} className="row">
                <Link href={compareHref(run.id, id)} className="cell-link">
                  <Foreign text={row?.inputLine ?? id} max={80} />
                </Link>
                {kin.has(id) && <strong className="small">{kin.get(id)}</strong>}
                {row && (
                  <span className="small mute">
                    <Badge status={row.status} /> <Ago at={row.createdAt} />
                  </span>
                )}
              </li>
            )
          })}
        </ul>
      </div>
    </Dialog>
  )
}
