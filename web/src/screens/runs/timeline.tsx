/**
 * The timeline of a run: a table with a row for each step and call, and its bars beside it. Waits are hollow, work is
 * filled, and long pauses are folded.
 */
import './timeline.css'
import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { useNow } from '../../api/clock.ts'
import { KeyHint } from '../../parts/key-hint.tsx'
import { useKeys } from '../../parts/keys.ts'
import { isGrowing, isLive, pageOf, rowsOf, type TimelineRow } from './bars.ts'
import type { Choice } from '../../parts/run/choice.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { choiceOf } from './row-choice.ts'
import { scaleOf, whole, type Scale, type View } from './scale.ts'
import { TimelineAxis } from './timeline-axis.tsx'
import { barWords, RowCells } from './timeline-row.tsx'
import type { RunsOnScreen } from './use-runs.tsx'
import { t, T } from '../../texts/texts.tsx'

interface Props {
  run: Run
  runs: RunsOnScreen
  choice: Choice | null
  onChoose(choice: Choice | null): void
}

export function Timeline({ run, runs, choice, onChoose }: Props) {
  const { children, opened } = runs
  const [shown, setShown] = useState<ReadonlyMap<string, number>>(new Map())
  const [view, setView] = useState<View>(whole)
  const rows = useMemo(
    () => rowsOf(run, { children: opened, runs: children, shown }),
    [run, opened, children, shown],
  )
  const scale = useScale(rows, isLive(run))
  const toggle = (id: string) => (opened.has(id) ? runs.close(id) : runs.open(id))
  const showMore = ({ runId }: { runId: string }) => {
    const step = runId === run.id ? pageOf.top : pageOf.child
    setShown(new Map([...shown, [runId, (shown.get(runId) ?? step) + step]]))
  }
  const chosen = choice?.id ?? null
  const acts = useStable({ choose: onChoose, toggle, showMore })
  useRowKeys(rows, chosen, onChoose, toggle, () => setView(whole))
  return (
    <div className="timeline">
      <TimelineAxis scale={scale} view={view} onZoom={setView} />
      <table>
        <caption className="sr-only">
          {t('Timeline: steps and calls in their order, with their times')}
        </caption>
        <colgroup>
          <col className="timeline-what" />
          <col className="timeline-status" />
          <col />
        </colgroup>
        <thead className="sr-only">
          <tr>
            <th scope="col">{t('What')}</th>
            <th scope="col">{t('Status')}</th>
            <th scope="col">{t('Time')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row
              key={row.key}
              row={row}
              scale={scale}
              view={view}
              isChosen={row.kind === 'run' ? chosen === null : row.id === chosen}
              onChoose={acts.choose}
              onToggle={acts.toggle}
              onMore={acts.showMore}
            />
          ))}
        </tbody>
      </table>
      <Legend />
    </div>
  )
}

interface Acts {
  choose(choice: Choice | null): void
  toggle(childId: string): void
  showMore(more: { runId: string }): void
}

/** Functions that stay the same for rows that are not drawn again, and do what the newest ones do. */
function useStable(acts: Acts): Acts {
  const latest = useRef(acts)
  useEffect(() => {
    latest.current = acts
  })
  return useMemo(
    () => ({
      choose: (choice) => latest.current.choose(choice),
      toggle: (childId) => latest.current.toggle(childId),
      showMore: (more) => latest.current.showMore(more),
    }),
    [],
  )
}

/** The axis; it stays the same object while it looks the same, so that rows which do not change are not drawn again. */
function useScale(rows: readonly TimelineRow[], live: boolean): Scale {
  const now = useNow()
  const bars = useMemo(() => rows.flatMap((row) => row.bars), [rows])
  const next = scaleOf(bars, now, live)
  const key = writeJson(next)
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => next, [key])
}

interface RowProps {
  row: TimelineRow
  scale: Scale
  view: View
  isChosen: boolean
  onChoose(choice: Choice | null): void
  onToggle(childId: string): void
  onMore(more: { runId: string }): void
}

/** A row that grows is drawn each second; the others only when something about them changed. */
const Row = memo(
  function Row(props: RowProps) {
    return isGrowing(props.row) ? <GrowingRow {...props} /> : <RowCells {...props} now={0} />
  },
  (before, after) =>
    before.scale === after.scale &&
    before.view === after.view &&
    before.isChosen === after.isChosen &&
    (before.row === after.row || writeJson(before.row) === writeJson(after.row)),
)

function GrowingRow(props: RowProps) {
  return <RowCells {...props} now={useNow()} />
}

function useRowKeys(
  rows: readonly TimelineRow[],
  chosen: string | null,
  choose: (choice: Choice | null) => void,
  toggle: (childId: string) => void,
  reset: () => void,
): void {
  const choosable = rows.filter(({ id, kind }) => kind === 'run' || id !== null)
  const at = choosable.findIndex(({ id }) => id === chosen)
  const move = (by: number) => {
    const next = choosable[Math.min(choosable.length - 1, Math.max(0, at + by))]
    if (next && next.id !== chosen) choose(choiceOf(next))
  }
  useEffect(() => {
    if (chosen !== null)
      document.querySelector('.timeline tr[data-chosen]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const open = () => {
    const childId = choosable[at]?.childId
    if (childId) toggle(childId)
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: (event) => {
      const { target } = event
      if (target instanceof HTMLElement && target.matches('a, button, summary')) target.click()
      else open()
    },
    '0': reset,
  })
}

const legend = ['queue', 'model', 'work', 'child', 'human', 'client'] as const

function Legend() {
  return (
    <p className="timeline-legend small mute">
      {legend.map((kind) => (
        <span key={kind}>
          <svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true" focusable="false">
            <rect className={`bar bar-${kind}`} x="1" y="1" width="16" height="10" rx="2" />
          </svg>
          {barWords[kind]}
        </span>
      ))}
      <span className="timeline-keys">
        <KeyHint keys="j" /> <KeyHint keys="k" />{' '}
        <T
          text="move · {enter} open a child run · {zero} all"
          enter={<KeyHint keys="Enter" />}
          zero={<KeyHint keys="0" />}
        />
      </span>
    </p>
  )
}
