/** Child runs: their limits, and which calls wait for one. Pure. */
import { asksAgent } from '../../tools/index.ts'
import { type ToolCall } from '../../tool-calls/index.ts'

export const nestingLimits = {
  /** Maximum length of a chain of runs, root included; a call that would exceed it is a tool error. */
  chain: 5,
  /** Maximum number of open child runs of one generation; further calls of its step stay PROPOSED until one ends. */
  openChildren: 8,
  /** Maximum number of descendants of one root over its whole life; a call that would exceed it is a tool error. */
  descendants: 100,
} as const

/** True while the call waits for its child run. No worker holds it, so a crash cannot make it UNKNOWN. */
export function waitsForChild(call: ToolCall): boolean {
  return call.childId !== null && call.status === 'EXECUTING'
}

/**
 * Which of the due calls may start now: child runs up to the limit; for an agent without parallel calls, nothing
 * beside or after a child run. `open`: all open calls; `inFlight`: calls that this worker is about to start, which
 * count too.
 */
export function startableNow(
  due: ToolCall[],
  open: ToolCall[],
  inFlight: ReadonlySet<string>,
  parallel: boolean,
): ToolCall[] {
  const running = open.filter(
    (call) => waitsForChild(call) || (inFlight.has(call.id) && asksAgent(call)),
  ).length
  if (!parallel) {
    const first = due.findIndex((call) => asksAgent(call))
    return running > 0 ? [] : first < 0 ? due : due.slice(0, Math.max(1, first))
  }
  let free = nestingLimits.openChildren - running
  return due.filter((call) => !asksAgent(call) || free-- > 0)
}
