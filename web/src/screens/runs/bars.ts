/** The rows of a timeline and their bars, from a run and those of its child runs that are opened. Pure. */
import { ms, msOr, type Bar } from './bar.ts'
import { isEnded, isOpenCall } from '../../parts/run/status.ts'
import { barsOfStep, failedBars, type DrawnStep, type FailedAttempt } from './step-bars.ts'
import { t } from '../../texts/texts.tsx'

export interface TimelineRow {
  key: string
  kind: 'run' | 'step' | 'call' | 'more' | 'reading'
  /** Steps of the top run have 1. */
  depth: number
  name: string
  /** The id that is chosen with this row; null where there is nothing to choose. */
  id: string | null
  status: string | null
  bars: readonly Bar[]
  /** The child run that the row opens like a folder; null when it has none. */
  childId: string | null
  isOpen: boolean
  /** For `more`: the run of which more rows can be shown, and how many are left. */
  more: { runId: string; left: number } | null
}

interface Attempt {
  startedAt: string
  endedAt: string | null
  outcome: string | null
}

/** What a timeline needs of a call. */
export interface DrawnCall {
  id: string
  name: string
  status: string
  stepIndex: number | null
  createdAt: string
  startedAt: string | null
  settledAt: string | null
  /** Set for calls that a client answers. */
  deadlineAt: string | null
  approval: { createdAt: string; settledAt: string | null } | null
  attempts: readonly Attempt[]
  child: { id: string; status: string; agent: { name: string } | null } | null
}

/** What a timeline needs of a run. */
export interface DrawnRun {
  id: string
  status: string
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  agent: { name: string } | null
  steps: readonly DrawnStep[]
  /** Requests to the model that failed, of every step. */
  failedAttempts: readonly (FailedAttempt & { stepIndex: number })[]
  toolCalls: readonly DrawnCall[]
}

export interface OpenRows {
  /** The child runs that are opened. */
  children: ReadonlySet<string>
  /** Those of them that have been read. */
  runs: ReadonlyMap<string, DrawnRun>
  /** How many rows of a run are shown, where it is not the default number. */
  shown: ReadonlyMap<string, number>
}

/** Rows that are shown at first: of the run itself, and of a child run. Each press shows as many more. */
export const pageOf = { top: 200, child: 20 } as const

/** All rows, in the order of the run, with those of opened child runs below the calls that started them. */
export function rowsOf(run: DrawnRun, opened: OpenRows): TimelineRow[] {
  const own: TimelineRow = {
    ...blank,
    key: run.id,
    kind: 'run',
    name: run.agent?.name ?? t('Run'),
    status: run.status,
    bars: barsOfRun(run),
  }
  return [own, ...inside(run, 1, opened)]
}

const blank = {
  depth: 0,
  id: null,
  status: null,
  bars: [],
  childId: null,
  isOpen: false,
  more: null,
} as const satisfies Partial<TimelineRow>

/** The rows of the steps and calls of a run, as many as are shown. */
function inside(run: DrawnRun, depth: number, opened: OpenRows): TimelineRow[] {
  const callsOf = byStep(run.toolCalls)
  const entries = stepRowsOf(run).flatMap((step) => [
    { step, call: null },
    ...(callsOf.get(step.index) ?? []).map((call) => ({ step: null, call })),
  ])
  const limit = opened.shown.get(run.id) ?? (depth === 1 ? pageOf.top : pageOf.child)
  const rows = entries.slice(0, limit).flatMap(({ step, call }): TimelineRow[] => {
    if (call) return callRows(call, depth + 1, opened)
    return [
      {
        ...blank,
        key: step.id ?? `${run.id} ${step.index}`,
        kind: 'step',
        depth,
        name: t('Step {index}', { index: step.index }),
        id: step.id,
        status: step.status,
        bars: step.bars,
      },
    ]
  })
  const left = entries.length - limit
  if (left > 0)
    rows.push({
      ...blank,
      key: `${run.id} more`,
      kind: 'more',
      depth,
      name: '',
      more: { runId: run.id, left },
    })
  return rows
}

function callRows(call: DrawnCall, depth: number, opened: OpenRows): TimelineRow[] {
  const childId = call.child?.id ?? null
  const isOpen = childId !== null && opened.children.has(childId)
  const row: TimelineRow = {
    ...blank,
    key: call.id,
    kind: 'call',
    depth,
    name: call.name,
    id: call.id,
    status: call.status,
    bars: barsOfCall(call, isOpen),
    childId,
    isOpen,
  }
  if (!isOpen) return [row]
  const child = opened.runs.get(childId)
  if (child) return [row, ...inside(child, depth + 1, opened)]
  return [row, { ...blank, key: `${childId} reading`, kind: 'reading', depth: depth + 1, name: '' }]
}

function byStep(calls: readonly DrawnCall[]): Map<number, DrawnCall[]> {
  const found = new Map<number, DrawnCall[]>()
  for (const call of calls) {
    const of = found.get(call.stepIndex ?? 0)
    if (of) of.push(call)
    else found.set(call.stepIndex ?? 0, [call])
  }
  return found
}

interface StepRow {
  /** Null: it has no answer. */
  id: string | null
  index: number
  status: string | null
  bars: readonly Bar[]
}

/**
 * The steps with their requests to the model. While the run works and nothing is open, the model is writing the next one; a
 * run that failed at a step shows what was tried.
 */
function stepRowsOf(run: DrawnRun): StepRow[] {
  const callsOf = byStep(run.toolCalls)
  const rows: StepRow[] = []
  let free = ms(run.startedAt ?? run.createdAt)
  for (const step of run.steps) {
    const bars = barsOfStep(step, free)
    rows.push({ id: step.id, index: step.index, status: null, bars })
    free = ms(step.createdAt)
    for (const { settledAt } of callsOf.get(step.index) ?? []) free = Math.max(free, msOr(settledAt) ?? 0)
  }
  const index = (run.steps.at(-1)?.index ?? 0) + 1
  const tried = failedBars(
    run.failedAttempts.filter(({ stepIndex }) => stepIndex >= index),
    free,
  )
  const isWriting =
    run.status === 'RUNNING' &&
    run.startedAt !== null &&
    !run.toolCalls.some(({ status }) => isOpenCall(status))
  if (isWriting) {
    const from = tried.at(-1)?.to ?? free
    const bars = [...tried, { kind: 'model' as const, from, to: null, isFailed: false }]
    rows.push({ id: null, index, status: 'RUNNING', bars })
  } else if (tried.length > 0)
    rows.push({ id: null, index, status: isEnded(run.status) ? 'FAILED' : 'QUEUED', bars: tried })
  return rows
}

/** The time in the queue, and from the first claim to the end. */
function barsOfRun({ createdAt, startedAt, finishedAt, status }: DrawnRun): Bar[] {
  const bars: Bar[] = []
  const [created, started, finished] = [ms(createdAt), msOr(startedAt), msOr(finishedAt)]
  if (started === null || started > created)
    bars.push({ kind: 'queue', from: created, to: started ?? finished, isFailed: false })
  if (started !== null)
    bars.push({ kind: 'frame', from: started, to: finished, isFailed: status === 'FAILED' })
  return bars
}

/** The wait for a person or a client, and each attempt. `isOpen`: its child run is drawn below, so only its frame is. */
function barsOfCall(call: DrawnCall, isOpen: boolean): Bar[] {
  const bars: Bar[] = []
  const settled = msOr(call.settledAt)
  if (call.approval) {
    const { createdAt, settledAt } = call.approval
    bars.push({ kind: 'human', from: ms(createdAt), to: msOr(settledAt) ?? settled, isFailed: false })
  }
  if (call.deadlineAt !== null) {
    const from = msOr(call.approval?.settledAt ?? null) ?? ms(call.createdAt)
    const isAsked = call.status === 'AWAITING_CLIENT' || settled !== null
    if (isAsked) bars.push({ kind: 'client', from, to: settled, isFailed: hasFailed(call.status) })
    return bars
  }
  const kind = call.child ? (isOpen ? 'frame' : 'child') : 'work'
  for (const { startedAt, endedAt, outcome } of call.attempts) {
    // The process of an attempt without an end may have stopped: it ends with the call or the next attempt.
    const next = call.attempts.find((other) => ms(other.startedAt) > ms(startedAt))
    const to = msOr(endedAt) ?? (next ? ms(next.startedAt) : settled)
    bars.push({ kind, from: ms(startedAt), to, isFailed: outcome === 'ERRORED' || outcome === 'UNKNOWN' })
  }
  const started = msOr(call.startedAt)
  if (call.attempts.length === 0 && started !== null)
    bars.push({ kind, from: started, to: settled, isFailed: hasFailed(call.status) })
  return bars
}

const failed: ReadonlySet<string> = new Set(['ERRORED', 'UNKNOWN', 'INVALID'])
const hasFailed = (status: string) => failed.has(status)

/** Whether a bar of the row is still growing. */
export const isGrowing = ({ bars }: Pick<TimelineRow, 'bars'>): boolean => bars.some(({ to }) => to === null)

/** The time from the first bar to the end of the last, in milliseconds; null without bars. */
export function spanOf({ bars }: Pick<TimelineRow, 'bars'>, now: number): number | null {
  if (bars.length === 0) return null
  const from = Math.min(...bars.map((bar) => bar.from))
  return Math.max(0, Math.max(...bars.map(({ to }) => to ?? now)) - from)
}

/** Whether the axis of this run still grows. */
export const isLive = (run: DrawnRun): boolean => !isEnded(run.status)
