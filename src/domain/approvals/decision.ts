/** A decision between its checks and its statement, with the arguments that an approver has edited. */
import type { ToolResult } from '../../core/content.ts'
import { type JsonObject, copyJson, hashJson, type Json, valueAt, writeJson } from '../../core/json.ts'
import type { Owner } from '../../store/work/owner.ts'
import type { Requirement } from '../gates/index.ts'
import { type Approval, type Verdict, type Vote, currentArguments } from './approval.ts'
import type { CheckedGrant } from './grants.ts'
import type { VerdictSnapshot } from './read.ts'
import type { Persons } from './rights.ts'
import type { Issue } from '../../core/errors.ts'
import { mask } from '../../core/scrub.ts'
import { maskAt, maskedPaths, type Callable } from '../tools/index.ts'

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

/**
 * The arguments with every mask replaced by the value that it hides. A mask at a path without a value is an issue,
 * and so is a mask inside a changed list, where it is not clear which value it means. Pure.
 */
export function unmaskEdit(
  given: JsonObject,
  approval: Approval,
  tool: Callable,
): { arguments: JsonObject } | { issues: Issue[] } {
  const before = currentArguments(approval)
  const paths = [approval.masked ?? [], maskedPaths(tool, before), maskedPaths(tool, given)].flat()
  const [shownBefore, shownGiven] = [maskAt(before, paths), maskAt(given, paths)]
  const places = new Map(paths.map((path) => [writeJson(path), path]))
  const result = copyJson(given)
  const issues: Issue[] = []
  for (const path of places.values()) {
    if (valueAt(given, path) !== mask) continue
    const list = path.findIndex((_key, i) => Array.isArray(valueAt(given, path.slice(0, i))))
    const around = list === -1 ? null : path.slice(0, list)
    const value = valueAt(before, path)
    if (value === undefined)
      issues.push({ path, message: 'is a mask, but there is no value at this path: send the value' })
    else if (around && hashJson(valueAt(shownGiven, around)) !== hashJson(valueAt(shownBefore, around)))
      issues.push({ path, message: 'is a mask in a list that was changed: send the value' })
    else put(result, path, value)
  }
  return issues.length > 0 ? { issues } : { arguments: result }
}

function put(value: Json, path: readonly string[], to: Json): void {
  const parent = valueAt(value, path.slice(0, -1)) as Record<string, Json>
  Object.defineProperty(parent, path.at(-1)!, {
    value: to,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}
