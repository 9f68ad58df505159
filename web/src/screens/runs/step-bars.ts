/** The bars of one step: its requests to the model, and the waits between them. Pure. */
import { ms, msOr, type Bar } from './bar.ts'

export interface FailedAttempt {
  /** Null for one of an older release, as those of a step. */
  startedAt: string | null
  failedAt: string
}

/** What a timeline needs of a step. */
export interface DrawnStep {
  id: string
  index: number
  startedAt: string | null
  firstTokenAt: string | null
  createdAt: string
  failedAttempts: readonly FailedAttempt[]
}

/** A shorter wait before a request to the model is not worth a bar, in milliseconds. */
const leastQueueMs = 100

/** Each request to the model, and the waits between them. `free`: when everything before the step was settled. */
export function barsOfStep(step: DrawnStep, free: number): Bar[] {
  const to = ms(step.createdAt)
  const bars = failedBars(step.failedAttempts, free)
  const before = Math.min(bars.at(-1)?.to ?? free, to)
  // A step of an older release: it began once everything before was settled.
  const from = Math.min(msOr(step.startedAt) ?? before, to)
  const first = msOr(step.firstTokenAt)
  bars.push(...waited(before, from), {
    kind: 'model',
    from,
    to,
    isFailed: false,
    ...(first === null ? {} : { firstAt: first }),
  })
  return bars
}

/** The requests that failed, one after the other. `free` as above. */
export function failedBars(attempts: readonly FailedAttempt[], free: number): Bar[] {
  const bars: Bar[] = []
  let before = free
  for (const { startedAt, failedAt } of attempts) {
    const to = ms(failedAt)
    const from = Math.min(msOr(startedAt) ?? before, to)
    bars.push(...waited(before, from), { kind: 'model', from, to, isFailed: true })
    before = to
  }
  return bars
}

const waited = (from: number, to: number): Bar[] =>
  to - from < leastQueueMs ? [] : [{ kind: 'queue', from, to, isFailed: false }]
