/** One row of the timeline: what it is, its status, how long it took, and its bars. */
import { Badge } from '../../parts/badge.tsx'
import { durationText } from '../../parts/durations.ts'
import { Icon } from '../../parts/icons.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { Bar, BarKind } from './bar.ts'
import { spanOf, type TimelineRow } from './bars.ts'
import type { Choice } from '../../parts/run/choice.ts'
import { choiceOf } from './row-choice.ts'
import { inView, placeOf, type Scale, type View } from './scale.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  row: TimelineRow
  scale: Scale
  view: View
  isChosen: boolean
  now: number
  onChoose(choice: Choice | null): void
  onToggle(childId: string): void
  onMore(more: { runId: string }): void
}

/** How far a row stands in below its run: deeper ones than seven no further. */
const inset = ({ depth }: TimelineRow) => ({ paddingInlineStart: Math.min(depth, 7) * 12 })

export function RowCells({ row, scale, view, isChosen, now, onChoose, onToggle, onMore }: Props) {
  if (row.more)
    return (
      <tr>
        <td colSpan={3} className="timeline-what" style={inset(row)}>
          <button type="button" className="quiet" onClick={() => onMore(row.more!)}>
            {t('Show more, {count} left', { count: row.more.left })}
          </button>
        </td>
      </tr>
    )
  if (row.kind === 'reading')
    return (
      <tr>
        <td colSpan={3} className="timeline-what mute" style={inset(row)}>
          {t('Reading the child run …')}
        </td>
      </tr>
    )
  return (
    <tr data-chosen={isChosen || undefined} data-kind={row.kind}>
      <th scope="row" className="timeline-what" style={inset(row)}>
        <span className="timeline-name">
          {row.childId !== null && (
            <button
              type="button"
              className="quiet timeline-toggle"
              aria-expanded={row.isOpen}
              aria-label={
                row.isOpen
                  ? t('Close the child run of {name}', { name: row.name })
                  : t('Open the child run of {name}', { name: row.name })
              }
              onClick={() => onToggle(row.childId!)}
            >
              <Icon name="chevron" />
            </button>
          )}
          {row.id === null && row.kind !== 'run' ? (
            <span>{row.name}</span>
          ) : (
            <button
              type="button"
              className="timeline-choose"
              aria-current={isChosen ? 'true' : undefined}
              onClick={() => onChoose(choiceOf(row))}
            >
              <Foreign text={row.name} max={80} />
            </button>
          )}
        </span>
      </th>
      <td className="timeline-status">{row.status !== null && <Badge status={row.status} />}</td>
      <td className="timeline-time">
        <span className="sr-only">{textOf(row, now)}</span>
        <Bars row={row} scale={scale} view={view} now={now} />
      </td>
    </tr>
  )
}

export const barWords: Record<BarKind, string> = {
  queue: t('in the queue'),
  model: t('model'),
  work: t('tool'),
  child: t('child run'),
  human: t('person'),
  client: t('client'),
  frame: t('whole run'),
}

/** The bars in words. */
function textOf({ bars }: TimelineRow, now: number): string {
  return bars
    .map(({ kind, from, to, isFailed, firstAt }) =>
      [
        barWords[kind],
        durationText((to ?? now) - from),
        ...(firstAt === undefined
          ? []
          : [t('first token after {time}', { time: durationText(firstAt - from) })]),
        ...(isFailed ? [t('failed')] : []),
        ...(to === null ? [t('so far')] : []),
      ].join(' '),
    )
    .join(', ')
}

const percent = (x: number) => `${(Math.min(1, Math.max(0, x)) * 100).toFixed(3)}%`

function Bars({ row, scale, view, now }: Pick<Props, 'row' | 'scale' | 'view' | 'now'>) {
  const drawn = row.bars.map((bar) => ({
    bar,
    x0: inView(view, placeOf(scale, bar.from)),
    x1: inView(view, placeOf(scale, bar.to ?? now)),
    first: bar.firstAt === undefined ? null : inView(view, placeOf(scale, bar.firstAt)),
  }))
  const visible = drawn.filter(({ x0, x1 }) => x1 >= 0 && x0 <= 1)
  const span = spanOf(row, now)
  return (
    <svg className="timeline-bars" height="20" aria-hidden="true" focusable="false">
      {visible.map(({ bar, x0, x1, first }) => (
        <OneBar key={`${bar.kind} ${bar.from}`} bar={bar} x0={x0} x1={x1} first={first} />
      ))}
      {span !== null && visible.length > 0 && (
        <Label text={durationText(span)} x1={Math.max(...visible.map(({ x1 }) => x1))} />
      )}
    </svg>
  )
}

interface OneBarProps {
  bar: Bar
  x0: number
  x1: number
  /** Where the answer of a model began. */
  first: number | null
}

function OneBar({ bar, x0, x1, first }: OneBarProps) {
  const left = Math.max(0, x0)
  const width = Math.max(0, Math.min(1, x1) - left)
  const isFrame = bar.kind === 'frame'
  return (
    <g className={bar.isFailed ? 'bar-failed' : undefined}>
      <rect
        className={`bar bar-${bar.kind}`}
        x={percent(left)}
        width={percent(width)}
        y={isFrame ? 8 : 4}
        height={isFrame ? 4 : 12}
        rx={isFrame ? 1 : 2}
      />
      {first !== null && first > 0 && first < 1 && (
        <line className="bar-first" x1={percent(first)} x2={percent(first)} y1="4" y2="16" />
      )}
      {bar.isFailed && !isFrame && x1 <= 1 && (
        <svg x={percent(x1)} y="5" width="10" height="10" overflow="visible">
          <path className="bar-cross" d="M-8 1l6 8M-2 1l-6 8" />
        </svg>
      )}
    </g>
  )
}

/** The length of a row, behind its last bar: the plot leaves room for it. */
function Label({ text, x1 }: { text: string; x1: number }) {
  return (
    <text className="timeline-label" x={percent(x1)} dx="6" y="14">
      {text}
    </text>
  )
}
