/** The log of a run as it is, page by page, and on its last page live. */
import { useEffect, useMemo } from 'react'
import { ask } from '../../api/client.ts'
import type { PrincipalParts } from '../../api/principal.ts'
import { createStore, useStore, type Store } from '../../api/store.ts'
import { wordsOf } from '../../parts/badge.tsx'
import { durationText } from '../../parts/durations.ts'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { eventsQuery, type LogEvent } from './log-documents.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { t } from '../../texts/texts.tsx'

interface Log {
  events: readonly LogEvent[]
  after: string | null
  hasMore: boolean
  error: unknown
}

export function RawEvents({ run, heard }: { run: Run; heard: Store<number> }) {
  const { id } = run
  const own = useMemo(() => makeLog(id), [id])
  useEffect(() => own.follow(heard), [own, heard])
  const log = useStore(own.log)
  const showMore = own.readOn
  if (log.error !== null && log.events.length === 0) return <Failure error={log.error} retry={showMore} />
  if (log.events.length === 0) return <Skeleton lines={8} />
  return (
    <>
      <table className="run-events">
        <caption className="sr-only">{t('Events, the oldest first')}</caption>
        <thead>
          <tr>
            <th scope="col" className="number run-events-number">
              {t('After')}
            </th>
            <th scope="col">{t('Event')}</th>
            <th scope="col">{t('What')}</th>
          </tr>
        </thead>
        <tbody>
          {log.events.map((event) => (
            <tr key={event.cursor}>
              <td className="number run-events-number mute">
                <time dateTime={event.at} title={event.at}>
                  {durationText(Date.parse(event.at) - Date.parse(run.createdAt))}
                </time>
              </td>
              <td className="mono run-events-type">{event.type}</td>
              <td className="run-events-what">
                {factsOf(event).map(([name, value]) => (
                  <span key={name} className={isId.test(value) ? 'mono' : undefined}>
                    {name !== 'name' && name !== 'call' && <span className="mute">{wordsOf(name)} </span>}
                    <Foreign text={value} max={200} />
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {log.error !== null && <Failure error={log.error} retry={showMore} />}
      {log.hasMore && (
        <button type="button" className="more run-more" onClick={showMore}>
          {t('Show 100 more')}
        </button>
      )}
    </>
  )
}

/** Words for fields of events; a name of the schema that is not here stands as it is. */
const names: Record<string, string> = {
  stepIndex: t('step'),
  childId: t('child run'),
  descendantId: t('in'),
  decider: t('by'),
  stopReason: t('reason'),
}

const isId = /^[a-z]+_[0-9a-z]{20,}$/

const shownAlready: ReadonlySet<string> = new Set(['__typename', 'type', 'at', 'cursor'])

/** The fields that only this type of event has, as text. */
function factsOf(event: LogEvent): [string, string][] {
  return Object.entries(event).flatMap(([name, value]): [string, string][] => {
    if (shownAlready.has(name) || value === null) return []
    if (name === 'decider') {
      const { id, name: known } = value as PrincipalParts
      return [[names['decider']!, known ?? id]]
    }
    if (name === 'toolCall') return [['call', (value as { id: string }).id]]
    return [[names[name] ?? name, String(value)]]
  })
}

/** Reads page after page; behind the last one again when something was heard. */
function makeLog(id: string): { log: Store<Log>; readOn(): void; follow(heard: Store<number>): () => void } {
  const log = createStore<Log>({ events: [], after: null, hasMore: true, error: null })
  let isReading = false
  let isDue = false
  const readOn = () => {
    if (isReading) return void (isDue = true)
    isReading = true
    void readPage(id, log.get()).then((next) => {
      log.set(next)
      isReading = false
      if (!isDue) return
      isDue = false
      if (!next.hasMore && next.error === null) readOn()
    })
  }
  return {
    log,
    readOn,
    follow(heard) {
      readOn()
      return heard.subscribe(() => {
        if (!log.get().hasMore) readOn()
        else isDue ||= isReading
      })
    },
  }
}

async function readPage(id: string, log: Log): Promise<Log> {
  try {
    const { generation } = await ask(eventsQuery, { id, after: log.after })
    if (!generation) return { ...log, hasMore: false }
    const { nodes, pageInfo } = generation.events
    return {
      events: [...log.events, ...nodes],
      after: pageInfo.endCursor ?? log.after,
      hasMore: pageInfo.hasNextPage,
      error: null,
    }
  } catch (error) {
    return { ...log, error }
  }
}
