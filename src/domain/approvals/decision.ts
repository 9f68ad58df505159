/** A decision between its checks and its statement. */
import type { ToolResult } from '../../core/content.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Owner } from '../../store/work/owner.ts'
import type { Requirement } from '../gates/index.ts'
import type { Approval, Verdict, Vote } from './approval.ts'
import type { CheckedGrant } from './grants.ts'
import type { VerdictSnapshot } from './read.ts'
import type { Persons } from './rights.ts'

/** A validated decision, to be applied under the lock. */
export interface PreparedVerdict {
  given: Decision
  /** As it was read, without a lock. */
  approval: Approval
  owner: Owner
  /** What else was read with it. */
  seen: VerdictSnapshot
  /** The persons behind caller, requester and voters; empty where nothing depends on them. */
  persons: Persons
  edit: Edit | null
  /** What the call results in when the verdict answers it with text; null when it does not. */
  response: ToolResult | null
  /** The vote of an earlier statement for this decision whose response was lost; it may have been written. */
  lost?: Vote | null
  /** Path of the decision in the request, for the paths of INVALID errors. */
  root: string[]
}

/** The arguments with which an approver replaces the current ones. */
export interface Edit {
  /** The arguments without presets, as the model or caller would have sent them. */
  own: JsonObject
  merged: JsonObject
  /** Names of the arguments that differ from those that were asked about. */
  keys: string[]
  /** Preset keys that the approver sent; they were dropped. */
  dropped: string[]
  digest: string
  masked: string[][]
  requirement: Requirement
}

/** The input of one decision, validated. */
export interface Decision {
  approvalId: string
  verdict: Verdict
  reason?: string | null | undefined
  note?: string | null | undefined
  response?: string | null | undefined
  arguments?: unknown
  /** For an APPROVE that named none: the digest at the beginning of the request. */
  expectedDigest?: string | null | undefined
  grant?: CheckedGrant | null | undefined
}
