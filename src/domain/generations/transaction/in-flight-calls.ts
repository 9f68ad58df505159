/** The server calls of one generation that this worker runs, while the loop keeps reading the rows. */
import type { ToolCall } from '../../tool-calls/index.ts'

export interface InFlightCalls {
  /** Every call that was added and has not ended, sent or not. */
  readonly ids: ReadonlySet<string>
  /** Runs the calls in order, at most `concurrency` of all calls in flight at once. */
  add(calls: ToolCall[], concurrency: number, run: (call: ToolCall) => Promise<void>): void
  /** Resolves when no call is in flight. Rejects with the first failure, after the other running calls have ended. */
  idle(): Promise<void>
  /** Forgets the failure, so that the calls that it stopped can be added again. */
  clearFailure(): void
}

export function inFlightCalls(): InFlightCalls {
  const ids = new Set<string>()
  const waiting: { call: ToolCall; run: (call: ToolCall) => Promise<void> }[] = []
  let running = 0
  let concurrency = 1
  let failure: { error: unknown } | null = null
  let onIdle: (() => void)[] = []

  const pump = () => {
    while (running < concurrency && waiting.length > 0) void start(waiting.shift()!)
    if (running > 0) return
    for (const resolve of onIdle) resolve()
    onIdle = []
  }
  const start = async ({ call, run }: (typeof waiting)[number]) => {
    running++
    try {
      await run(call)
    } catch (error) {
      failure ??= { error }
      for (const dropped of waiting.splice(0)) ids.delete(dropped.call.id)
    }
    ids.delete(call.id)
    running--
    pump()
  }
  return {
    ids,
    clearFailure: () => void (failure = null),
    add(calls, most, run) {
      concurrency = most
      for (const call of calls) {
        ids.add(call.id)
        waiting.push({ call, run })
      }
      pump()
    },
    async idle() {
      if (running > 0) await new Promise<void>((resolve) => onIdle.push(resolve))
      if (failure) throw failure.error
    },
  }
}
