/** Whether rows may have changed since they were read. */

export interface Changes {
  /** False when no statement has run since the last read, and the clocks agree. */
  any(): boolean
  /** Call it before a read of one statement, and the returned function when the read has succeeded. */
  begin(): () => void
}

/** The wall clock and the monotonic clock may differ by so much more than at the last read, in milliseconds. */
const clockStepMs = 100

/**
 * `statementCount` counts the statements sent to a database to which only this process writes; null: anyone may
 * write, at any time. A step of the clock, or a suspended machine, counts as a change: what is due depends on it.
 */
export function watchChanges(statementCount: (() => number) | null): Changes {
  const clockOffset = () => Date.now() - performance.now()
  let seen = -1
  let offset = clockOffset()
  return {
    any: () =>
      statementCount === null || statementCount() !== seen || Math.abs(clockOffset() - offset) > clockStepMs,
    begin() {
      // The read is a statement too. Those sent while it runs may have run after it.
      const before = statementCount?.() ?? 0
      const offsetBefore = clockOffset()
      return () => {
        seen = before + 1
        offset = offsetBefore
      }
    },
  }
}
