/** The runs of the project, the newest first, live, with a filter that the address keeps. */
import './runs.css'
import { useCallback, useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useNew } from '../../parts/address.ts'
import { serverNow } from '../../api/clock.ts'
import { useViewer } from '../../api/viewer.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Icon } from '../../parts/icons.tsx'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { CancelMany } from './cancel-many.tsx'
import { CancelRun } from './cancel-run.tsx'
import { compareHref } from '../../parts/run/choice.ts'
import { isEnded } from '../../parts/run/status.ts'
import { filterOf, hrefOf, isNarrowed, type RunFilter } from './rows.ts'
import { RunFilters } from './run-filters.tsx'
import { RunTable } from './run-table.tsx'
import { RunTally } from './run-tally.tsx'
import { StartRun } from './start-run.tsx'
import { filterInput, useRunList, type RunList } from './use-run-list.ts'
import { t, T } from '../../texts/texts.tsx'

export function Runs() {
  const search = useSearch()
  const [, go] = useLocation()
  const filter = filterOf(search)
  const href = hrefOf(filter)
  const [chosen, setChosen] = useState<string | null>(null)
  const [isStarting, setStarting] = useNew('run')
  const [ending, setEnding] = useState<string | null>(null)
  const [isEndingAll, setEndingAll] = useState(false)
  const [marked, setMarked] = useState<readonly string[]>([])
  // Two are compared: with a third one, the first is let go.
  const mark = useCallback(
    (id: string) =>
      setMarked((all) => (all.includes(id) ? all.filter((one) => one !== id) : [...all.slice(-1), id])),
    [setMarked],
  )
  const isHeld = chosen !== null || marked.length > 0
  const list = useRunList(href, isHeld || isStarting || ending !== null || isEndingAll)
  const mayCancel = useViewer()?.may('generations:Cancel') ?? false
  const isFiltered = isNarrowed(filter)
  const change = (next: RunFilter, isTyped = false) => go(hrefOf(next), { replace: isTyped })
  const hasOpen = [...list.rows.values()].some(({ status }) => !isEnded(status))
  useListKeys(list, chosen, setChosen, mark)
  return (
    <>
      <header className="screen-head">
        <h1>{t('Runs')}</h1>
        <ActionButton needs="generations:Start" className="primary spread" onClick={() => setStarting(true)}>
          <Icon name="play" /> {t('Start a run')}
        </ActionButton>
      </header>
      <div className="runs-filters">
        <RunFilters
          filter={filter}
          shown={[...list.rows.values()].map(({ requester }) => requester)}
          onChange={change}
        />
        {isFiltered && hasOpen && mayCancel && (
          <button type="button" className="quiet" onClick={() => setEndingAll(true)}>
            {t('Cancel all of these …')}
          </button>
        )}
        <ToCompare marked={marked} onClear={() => setMarked([])} />
      </div>
      <RunTally
        filter={filter}
        input={list.input}
        isCounted={isFiltered || filter.by !== null}
        onChange={change}
      />
      <Body
        list={list}
        isFiltered={isFiltered}
        chosen={chosen}
        marked={marked}
        onMark={mark}
        onCancel={setEnding}
        onStart={() => setStarting(true)}
        onAll={() => go('/runs')}
      />
      {isStarting && (
        <StartRun agentId={filter.agentId} threadId={filter.threadId} onClose={() => setStarting(false)} />
      )}
      {isEndingAll && (
        <CancelMany
          filter={filterInput(filter, serverNow())}
          onClose={() => {
            setEndingAll(false)
            list.reload()
          }}
        />
      )}
      {ending !== null && (
        <CancelRun
          id={ending}
          onClose={() => {
            setEnding(null)
            list.reload()
          }}
        />
      )}
    </>
  )
}

/** The runs that are selected, and where they stand beside each other, in the order of their selection. */
function ToCompare({ marked, onClear }: { marked: readonly string[]; onClear(): void }) {
  const [one, two] = marked
  return (
    <div className="row" role="status">
      {one !== undefined && two === undefined && (
        <span className="mute">{t('Select another run to compare it with.')}</span>
      )}
      {one !== undefined && two !== undefined && (
        <Link href={compareHref(one, two)} className="button primary">
          {t('Compare')}
        </Link>
      )}
      {one !== undefined && (
        <button type="button" className="quiet" onClick={onClear}>
          {t('Clear the selection')}
        </button>
      )}
    </div>
  )
}

interface BodyProps {
  list: RunList
  isFiltered: boolean
  chosen: string | null
  marked: readonly string[]
  onMark(id: string): void
  onCancel(id: string): void
  onStart(): void
  onAll(): void
}

function Body({ list, isFiltered, chosen, marked, onMark, onCancel, onStart, onAll }: BodyProps) {
  if (list.error && list.rows.size === 0) return <Failure error={list.error} retry={list.reload} />
  if (list.isLoading) return <Skeleton lines={10} />
  if (list.ids.length === 0)
    return isFiltered ? (
      <Empty title={t('No matching runs')}>
        <button type="button" onClick={onAll}>
          {t('Show all runs')}
        </button>
      </Empty>
    ) : (
      <Empty title={t('Nothing has run yet')}>
        {t('A run is one job of an agent: what it thought, which tools it called, and who allowed it.')}{' '}
        <ActionButton needs="generations:Start" onClick={onStart}>
          {t('Start a run')}
        </ActionButton>
      </Empty>
    )
  return (
    <>
      {list.error !== null && <Failure error={list.error} retry={list.reload} />}
      {list.waiting > 0 && (
        <button type="button" className="more" onClick={list.showWaiting}>
          {t('{count} new', { count: list.waiting })}
        </button>
      )}
      <RunTable list={list} chosen={chosen} marked={marked} onMark={onMark} onCancel={onCancel} />
      {list.hasMore && (
        <button type="button" className="more" onClick={list.showMore}>
          {t('Show 50 more')}
        </button>
      )}
      <p className="small mute runs-keys">
        <KeyHint keys="j" /> <KeyHint keys="k" />{' '}
        <T
          text="move · {enter} open · {x} select to compare · {slash} filter"
          x={<KeyHint keys="x" />}
          enter={<KeyHint keys="Enter" />}
          slash={<KeyHint keys="/" />}
        />
      </p>
    </>
  )
}

function useListKeys(
  { ids }: RunList,
  chosen: string | null,
  choose: (id: string | null) => void,
  mark: (id: string) => void,
): void {
  const [, go] = useLocation()
  const move = (by: number) => {
    const at = chosen === null ? -1 : ids.indexOf(chosen)
    const next = ids[Math.min(ids.length - 1, Math.max(0, at + by))]
    if (!next) return
    // Enter opens the row from now on, and not what had the focus before.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    choose(next)
  }
  // Whoever moves by keys sees the row that they are on.
  useEffect(() => {
    if (chosen !== null) document.querySelector('tr[data-chosen]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => chosen !== null && mark(chosen),
    c: () => void (chosen && navigator.clipboard.writeText(chosen).catch(() => {})),
    Enter: (event) => {
      const { target } = event
      if (target instanceof HTMLElement && target.matches('a, button, summary')) target.click()
      else if (chosen) go(`/runs/${chosen}`)
    },
    Escape: () => {
      const field = document.activeElement
      if (field instanceof HTMLElement && field.matches('input, textarea, select')) field.blur()
      else choose(null)
    },
  })
}
