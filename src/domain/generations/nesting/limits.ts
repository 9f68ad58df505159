/** Runs within runs: how far they may go, and what a call of an agent waits for. Pure. */
import { asksAgent } from '../../tools/index.ts'
import { type ToolCall } from '../../tool-calls/index.ts'

export const nestingLimits = {
  /** Runs in a chain, the root included; a call that would make another is a tool error. */
  chain: 5,
  /** Runs that one generation waits for at once; further calls of its step stay PROPOSED until one of them ends. */
  openChildren: 8,
  /** Runs under one root, over its whole life; a call that would make another is a tool error. */
  descendants: 100,
} as const

/** Where a run within a run hangs. */
export interface ParentLink {
  projectId: string
  parentId: string
  /** The parent's call that waits for it. */
  callId: string
  rootId: string
}

/** Whether the call waits for a run of its own. Such a call is in nobody's hands, and its outcome is never unknown. */
export function waitsForChild(call: ToolCall): boolean {
  return call.childId !== null && call.status === 'EXECUTING'
}

/**
 * Which of the calls that are due may start now: runs up to the limit, and of an agent without parallel calls nothing
 * beside or behind a run. `open`: all that is open; `inHand`: what this worker is about to start counts as well.
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
