/** The state of the protocol model: requests, their responses, and which replica is cut off. Pure. */

/** What a person read before giving a verdict. */
export interface Reading {
  verdict: 'APPROVE' | 'REJECT'
  /** Null: the request may have met a later edit, which the server counts as read. */
  digest: string | null
  /** The amount that an edit put in; null without an edit. */
  amount: number | null
}

export interface Model {
  /** The database's time at the beginning: older rows belong to other models. */
  since: string
  /** How many runs and direct calls were requested. */
  begun: number
  /** The replica that is cut off, or will be at its next statement of a kind. */
  cut: number | null
  namesHeld: boolean
  answersHeld: boolean
  /** By `approval/person`. */
  read: Map<string, Reading[]>
  /** Verdicts that were acknowledged and closed the approval. */
  acknowledged: Map<string, 'APPROVE' | 'REJECT'>
  /** Verdicts without a response yet. */
  openVerdicts: number
  /** Outputs that were acknowledged, by call. */
  outputs: Map<string, string>
  /** Runs whose cancel was acknowledged. */
  cancelled: Set<string>
  /** How often each command ran, for the report. */
  done: Map<string, number>
}

export function newModel(since: string): Model {
  return {
    since,
    begun: 0,
    cut: null,
    namesHeld: false,
    answersHeld: false,
    read: new Map(),
    acknowledged: new Map(),
    openVerdicts: 0,
    outputs: new Map(),
    cancelled: new Set(),
    done: new Map(),
  }
}

export function note<Key, Value>(into: Map<Key, Value[]>, key: Key, value: Value): void {
  into.set(key, [...(into.get(key) ?? []), value])
}
