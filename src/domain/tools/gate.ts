/** The gate of a tool: the rule that stops a call for a human, and the judgement over one call. Pure. */
import { z } from 'zod'
import { whole } from '../../core/check.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { roles, type Role } from '../access/index.ts'

export const gateModes = ['NEVER', 'ALWAYS', 'WHEN'] as const
export type GateMode = (typeof gateModes)[number]

export interface GatePolicy {
  /** WHEN stops the calls whose arguments, presets merged in, fit the schema `when`. */
  mode: GateMode
  when: JsonObject | null
  /** Nobody answered for so long: the call is rejected as expired. */
  timeoutSeconds: number
  /** Approvals by different people that it takes. One rejection always suffices. */
  quorum: number
  /** Who asked for the call may not decide about it. */
  excludeRequester: boolean
  /** Only keys of these roles decide; empty means everyone who may `approvals:Decide`. */
  approvers: Role[]
  /** Nobody answered for so long: an event tells it, and from then on admins may decide too. */
  escalateAfterSeconds: number | null
}

export const gateDefaults: GatePolicy = {
  mode: 'ALWAYS',
  when: null,
  timeoutSeconds: 300,
  quorum: 1,
  excludeRequester: false,
  approvers: [],
  escalateAfterSeconds: null,
}

const week = 7 * 24 * 60 * 60

const shape = z.object({
  autoApprove: z.boolean().nullish(),
  mode: z.enum(gateModes).nullish(),
  when: z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object').nullish(),
  timeoutSeconds: whole(5, week).nullish(),
  quorum: whole(1, 10).nullish(),
  excludeRequester: z.boolean().nullish(),
  approvers: z.array(z.enum(roles)).max(roles.length).nullish(),
  escalateAfterSeconds: whole(1, week).nullish(),
})

/**
 * A gate as people write it: the simple switch `autoApprove` (S0), or a policy. Without a mode it is WHEN with a
 * schema and else ALWAYS. The output is complete, and a legal input again.
 */
export const gateInput = shape.transform((given, at): GatePolicy => {
  const fault = (path: string, message: string) => at.addIssue({ code: 'custom', path: [path], message })
  const { autoApprove, when } = given
  if (typeof autoApprove === 'boolean' && given.mode)
    fault('autoApprove', 'give either autoApprove or mode: true is NEVER, false is ALWAYS')
  if (autoApprove === true && when) fault('when', 'has no effect with autoApprove: true')
  const mode = given.mode ?? (autoApprove === true ? 'NEVER' : when ? 'WHEN' : 'ALWAYS')
  if (mode === 'WHEN' && !when) fault('when', 'is required with the mode WHEN')
  if (given.mode && given.mode !== 'WHEN' && when) fault('when', 'needs the mode WHEN')
  const compiled = when ? compileSchema(when, ['when']) : null
  if (compiled && !compiled.ok) {
    const { path, message } = compiled.issue
    at.addIssue({ code: 'custom', path, message })
  }
  const made: GatePolicy = {
    mode,
    when: when ?? null,
    timeoutSeconds: given.timeoutSeconds ?? gateDefaults.timeoutSeconds,
    quorum: given.quorum ?? gateDefaults.quorum,
    excludeRequester: given.excludeRequester ?? gateDefaults.excludeRequester,
    approvers: [...new Set(given.approvers)],
    escalateAfterSeconds: given.escalateAfterSeconds ?? null,
  }
  if (made.escalateAfterSeconds !== null && made.escalateAfterSeconds >= made.timeoutSeconds)
    fault('escalateAfterSeconds', 'must be less than timeoutSeconds')
  return made
})

export type GateInput = z.input<typeof gateInput>

/** Where a tool's gate comes from. */
export const gateSources = ['OPERATOR', 'DESTRUCTIVE_HINT', 'DEFAULT'] as const
export type GateSource = (typeof gateSources)[number]

/**
 * The gate that holds for a tool: what the operator set, else ALWAYS for a tool annotated as destructive (S3,
 * "Human-in-the-Loop"), else none.
 */
export function gateOf(definition: {
  gate?: GatePolicy | null
  annotations: { destructiveHint?: boolean }
}): GatePolicy & { source: GateSource } {
  if (definition.gate) return { ...definition.gate, source: 'OPERATOR' }
  if (definition.annotations.destructiveHint === true) return { ...gateDefaults, source: 'DESTRUCTIVE_HINT' }
  return { ...gateDefaults, mode: 'NEVER', source: 'DEFAULT' }
}

/** What a stopped call asks for: the strictest of all policies that stop it. */
export interface Requirement {
  timeoutSeconds: number
  quorum: number
  excludeRequester: boolean
  /** Whoever decides has a role of each of these lists. */
  approvers: Role[][]
  escalateAfterSeconds: number | null
}

/** What the policies ask of a call with these arguments, presets merged in; null lets it pass. */
export function judgeGate(policies: readonly GatePolicy[], merged: JsonObject): Requirement | null {
  const stopping = policies.filter((policy) => stops(policy, merged))
  if (stopping.length === 0) return null
  const timeoutSeconds = Math.min(...stopping.map((policy) => policy.timeoutSeconds))
  const escalations = stopping
    .map((policy) => policy.escalateAfterSeconds)
    .filter((after): after is number => after !== null && after < timeoutSeconds)
  return {
    timeoutSeconds,
    quorum: Math.max(...stopping.map((policy) => policy.quorum)),
    excludeRequester: stopping.some((policy) => policy.excludeRequester),
    approvers: stopping.map((policy) => policy.approvers).filter((list) => list.length > 0),
    escalateAfterSeconds: escalations.length > 0 ? Math.min(...escalations) : null,
  }
}

/** What a call asks for whose arguments were changed while its deadline runs: all that was asked, and what they ask. */
export function stricter(asked: Requirement, more: Requirement | null): Requirement {
  if (!more) return asked
  const known = new Set(asked.approvers.map((list) => list.join()))
  return {
    ...asked,
    quorum: Math.max(asked.quorum, more.quorum),
    excludeRequester: asked.excludeRequester || more.excludeRequester,
    approvers: [...asked.approvers, ...more.approvers.filter((list) => !known.has(list.join()))],
  }
}

/** Whether whoever met one requirement has met the other as well; deadlines aside. */
export function meets(met: Requirement, asked: Requirement): boolean {
  return (
    met.quorum >= asked.quorum &&
    (met.excludeRequester || !asked.excludeRequester) &&
    asked.approvers.every((list) => met.approvers.some((one) => one.every((role) => list.includes(role))))
  )
}

function stops(policy: GatePolicy, merged: JsonObject): boolean {
  if (policy.mode !== 'WHEN') return policy.mode === 'ALWAYS'
  const compiled = compileSchema(policy.when)
  // A rule that cannot be read stops everything.
  return !compiled.ok || compiled.validate(merged).length === 0
}
