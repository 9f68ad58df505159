/** What the policies of gates require for one call. Pure. */
import { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { judge } from '../../core/json-schema.ts'
import type { JsonObject } from '../../core/json.ts'
import { role } from '../access/index.ts'
import { allowancesOf, gateMeanings, type GatePolicy } from './policy.ts'

/** What the approval of a stopped call requires: the strictest of all policies that stop it. */
export const requirementShape = part(
  'GateRequirement',
  'The verdict that a stopped call needs: the strictest of all policies that stop it.',
  {
    timeoutSeconds: view.int('The time for a verdict in seconds.'),
    quorum: view.int('The number of approvals by different people that a call needs.'),
    excludeRequester: view.flag(
      'Whether the person who requested the call may not decide about it, with any API key.',
    ),
    approvers: z
      .array(z.array(role))
      .describe('Lists of roles: an API key that decides has a role of each list.'),
    escalateAfterSeconds: view
      .int('Seconds without a verdict until the approval is escalated; null: never.')
      .nullable(),
    /** Every policy that stops the call allows it; so too responses. */
    verdictLinks: view.mark(gateMeanings.verdictLinks),
    responses: view.mark(gateMeanings.responses),
    loginOf: view
      .id(
        'The id of the API key or person who must log in at the server of the tool, with logInToUpstream; then the call goes ' +
          'on. Null: approvers decide.',
      )
      .optional(),
    actsFor: view
      .principal(
        'actsFor',
        'The person for whom the program acts that requested the call, who counts as a requester too; null when the requester ' +
          'acts alone.',
      )
      .optional(),
  },
)
export type Requirement = z.output<typeof requirementShape>

/**
 * What the policies require for a call with these arguments, presets merged in; null when it may run. A policy of which
 * cannot be told whether it applies stops the call.
 */
export function judgeGate(
  policies: readonly GatePolicy[],
  merged: JsonObject,
  projectId: string,
): Requirement | null {
  const stopping = policies.filter((policy) => stops(policy, merged, projectId))
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
    ...allowancesOf((name) => stopping.every((policy) => policy[name])),
  }
}

/** The requirement after the arguments of a pending call were edited: the one asked, made stricter by the new one. */
export function stricter(asked: Requirement, more: Requirement | null): Requirement {
  if (!more) return asked
  const known = new Set(asked.approvers.map((list) => list.join()))
  const { verdictLinks: _links, responses: _responses, ...rest } = asked
  return {
    ...rest,
    ...allowancesOf((name) => asked[name] === true && more[name] === true),
    quorum: Math.max(asked.quorum, more.quorum),
    excludeRequester: asked.excludeRequester || more.excludeRequester,
    approvers: [...asked.approvers, ...more.approvers.filter((list) => !known.has(list.join()))],
  }
}

/** Whether approvals that met one requirement also meet the other, deadlines aside. */
export function meets(met: Requirement, asked: Requirement): boolean {
  return (
    met.quorum >= asked.quorum &&
    (met.excludeRequester || !asked.excludeRequester) &&
    (!met.verdictLinks || asked.verdictLinks === true) &&
    asked.approvers.every((list) => met.approvers.some((one) => one.every((name) => list.includes(name))))
  )
}

function stops(policy: GatePolicy, merged: JsonObject, projectId: string): boolean {
  if (policy.mode !== 'WHEN') return policy.mode === 'ALWAYS'
  return judge(policy.when, projectId, merged).fits !== 'NO'
}
