/** How long the MCP endpoints hold and repeat things. */

/** All in milliseconds. Most clients give up after 60 seconds without a response or progress. */
export interface McpTimings {
  /** A run of the agent may take so long; time spent waiting for approval does not count. */
  runMs: number
  /** How long a legacy client without progress is held while a person decides. */
  inlineHoldMs: number
  /**
   * The same for one that asked for progress: few clients start their time limit again with it, so it has to be under
   * the common 60 seconds too.
   */
  progressHoldMs: number
  /** How long one round of a modern client is held while a person decides. */
  roundHoldMs: number
  /** Interval of progress notifications while a person decides. */
  progressMs: number
  /** A call that ends sooner returns its result at once, although the client supports tasks. */
  taskAfterMs: number
  /** The polling interval that tasks suggest to the client. */
  pollMs: number
  /** A call that awaits approval is cancelled so long after its client disconnected, unless the client returns. */
  graceMs: number
}

export const defaultTimings: McpTimings = {
  runMs: 60_000,
  inlineHoldMs: 45_000,
  progressHoldMs: 45_000,
  roundHoldMs: 40_000,
  progressMs: 5000,
  taskAfterMs: 500,
  pollMs: 2000,
  graceMs: 60_000,
}
