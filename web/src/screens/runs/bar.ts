/** One stretch of time on a timeline. */

/**
 * What happened during a bar: a model wrote, a tool or child run worked, or something was waited for. A frame is the whole
 * time of a run whose parts are drawn below it.
 */
export type BarKind = 'queue' | 'model' | 'work' | 'child' | 'human' | 'client' | 'frame'

export interface Bar {
  kind: BarKind
  /** Milliseconds since 1970. */
  from: number
  /** Null: it is still growing. */
  to: number | null
  isFailed: boolean
  /** When the first part of an answer arrived. */
  firstAt?: number
}

export const ms = Date.parse
export const msOr = (at: string | null): number | null => (at === null ? null : ms(at))
