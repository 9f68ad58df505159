/** The server calls of one generation that this worker has in hand, while the loop goes on looking at the row. */
import type { ToolCall } from '../../tool-calls/index.ts'

export interface InFlightCalls {
  /** Everything that was added and has not ended, sent or not. */
  readonly ids: ReadonlySet<string>
  /** Runs the calls, at most `lanes` of all those in hand at once, in order. */
  add(calls: ToolCall[], concurrency: number, run: (call: ToolCall) => Promise<void>): void
  /** Resolves when nothing is in hand. Rejects with the first failure, after what was under way has ended. */
  idle(): Promise<void>
  /** Forgets the failure: the calls that it stopped are looked at again. */
  clearFailure(): void
}

export function inFlightCalls(): InFlightCalls {
  const ids = new Set<string>()
  const waiting: { call: ToolCall; run: (call: ToolCall) => Promise<void> }[] = []
  let running = 0
  let concurrency = 1
  let failure: { error: unknown } | null = null
  let told: (() => void)[] = []

  const pump = () => {
    while (running < concurrency && waiting.length > 0) void start(waiting.shift()!)
    if (running > 0) return
    for (const tell of told) tell()
    told = []
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
      if (running > 0) await new Promise<void>((resolve) => told.push(resolve))
      if (failure) throw failure.error
    },
  }
}
