/** The gate of a tool: the policy that stops a call for an approval. Pure. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { jsonObject, text, whole } from '../../core/check.ts'
import type { Issue } from '../../core/errors.ts'
import { compileSchema, schemaLimits } from '../../core/json-schema.ts'
import { choice, optional, part, scalar } from '../../core/shapes.ts'
import { role, roles } from '../access/index.ts'

/** The template of the sentence that says what a call does: text with names of arguments in braces. Pure. */
export type TitlePart = { text: string } | { name: string }

/** The parts of a template such as "Refund {amount} to {customer}"; null with a brace that has no partner. */
export function titleParts(title: string): TitlePart[] | null {
  const pieces = title.split(/\{([^{}]*)\}/)
  if (pieces.some((piece, at) => at % 2 === 0 && /[{}]/.test(piece))) return null
  return pieces.flatMap((piece, at): TitlePart[] => {
    if (at % 2 === 1) return [{ name: piece }]
    return piece === '' ? [] : [{ text: piece }]
  })
}

export const gateMode = choice('GateMode', 'Which calls a gate stops.', {
  NEVER: 'The gate stops no call, as with autoApprove: true.',
  ALWAYS: 'The gate stops every call, as with autoApprove: false.',
  WHEN: 'The gate stops calls whose arguments match the schema `when`.',
})
export type GateMode = z.output<typeof gateMode>

/** What some fields mean, given and shown. */
export const gateMeanings = {
  when: 'The JSON Schema of the mode WHEN: calls whose arguments, presets included, match it are stopped.',
  verdictLinks:
    'Whether recipients of a webhook may decide with a link and a one-time code, without signing in; every gate that ' +
    'stops a call must allow it.',
  responses:
    'Whether an approver may answer a call with text, which becomes its result in place of that of the tool; every gate that ' +
    'stops a call must allow it.',
  title:
    'The sentence about a call that approvers read, as a template: {name} stands for the value of a top-level argument, ' +
    'as in "Refund {amount} to {customer}".',
}

export const policyShape = part('GatePolicy', 'The policy that stops calls until approvers decide.', {
  mode: gateMode.describe('Which calls the gate stops.'),
  when: view.jsonSchema(`${gateMeanings.when} Null in other modes.`).nullable(),
  timeoutSeconds: view.int('The time for a verdict in seconds; after it, the call is rejected.'),
  quorum: view.int('The number of approvals by different people that a call needs.'),
  excludeRequester: view.flag(
    'Whether the person who requested the call may not decide about it, with any API key.',
  ),
  approvers: z
    .array(role)
    .describe('The roles whose API keys may decide; empty: every key with approvals:Decide.'),
  escalateAfterSeconds: view
    .int(
      'Seconds without a verdict until the approval is escalated: an event is sent and admins may decide ' +
        'too. Null: never.',
    )
    .nullable(),
  title: view.text(`${gateMeanings.title} Null: the name of the tool and its first arguments.`).optional(),
  verdictLinks: view.mark(gateMeanings.verdictLinks),
  responses: view.mark(gateMeanings.responses),
})
export type GatePolicy = z.output<typeof policyShape>

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

const shape = part(
  'GateInput',
  'The policy that stops calls until approvers decide: the switch autoApprove, or a mode.',
  {
    autoApprove: z
      .boolean()
      .nullish()
      .describe('Whether every call passes; false stops every call. Not together with mode.'),
    mode: optional(
      gateMode.describe('Which calls the gate stops.'),
      'WHEN with a schema `when`, else ALWAYS',
    ),
    when: scalar('JSONSchema', jsonObject(schemaLimits.maxBytes, schemaLimits.maxDepth))
      .nullish()
      .describe(gateMeanings.when),
    timeoutSeconds: optional(
      whole(5, week).describe(
        'The time for a verdict in seconds, 5 to 604,800 (7 days); after it, the call is rejected.',
      ),
      '300',
    ),
    quorum: optional(
      whole(1, 10).describe(
        'The number of approvals by different people that a call needs, 1 to 10. API keys that one key ' +
          'created count as one person.',
      ),
      '1',
    ),
    excludeRequester: optional(
      z.boolean().describe('Whether the person who requested the call may not decide about it.'),
      'false',
    ),
    approvers: optional(
      z.array(role).max(roles.length).describe('The roles whose API keys may decide.'),
      'every key with approvals:Decide',
    ),
    escalateAfterSeconds: optional(
      whole(1, week).describe(
        'Seconds without a verdict until the approval is escalated, from 1 and less than timeoutSeconds.',
      ),
      'never',
    ),
    verdictLinks: optional(z.boolean().describe(gateMeanings.verdictLinks), 'false'),
    responses: optional(z.boolean().describe(gateMeanings.responses), 'false'),
    title: optional(
      text(200, 1).describe(
        `${gateMeanings.title} It has at most 200 characters, names no masked argument, and is for gates of tools with one ` +
          'input schema and of single actions of mcp tools.',
      ),
      'the name of the tool and its first arguments',
    ),
  },
)

/**
 * A gate as clients write it: the switch `autoApprove`, or a policy. Without `mode` it is WHEN if `when` is given, else
 * ALWAYS. The output has every field, `verdictLinks` and `responses` only when they are true, and is valid input again.
 * Whether `when` compiles is told by `gateFaults`.
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
  const made: GatePolicy = {
    mode,
    when: when ?? null,
    timeoutSeconds: given.timeoutSeconds ?? gateDefaults.timeoutSeconds,
    quorum: given.quorum ?? gateDefaults.quorum,
    excludeRequester: given.excludeRequester ?? gateDefaults.excludeRequester,
    approvers: [...new Set(given.approvers)],
    escalateAfterSeconds: given.escalateAfterSeconds ?? null,
    ...allowancesOf((name) => given[name] === true),
    ...(typeof given.title === 'string' ? { title: given.title } : {}),
  }
  if (made.escalateAfterSeconds !== null && made.escalateAfterSeconds >= made.timeoutSeconds)
    fault('escalateAfterSeconds', 'must be less than timeoutSeconds')
  if (made.title !== undefined && !titleParts(made.title))
    fault('title', 'has a brace without its partner: write {name} where the value of an argument belongs')
  return made
})

export type GateInput = z.input<typeof gateInput>

/** The faults of a policy that is saved: a `when` that does not compile. `path` leads to the policy. */
export function gateFaults(policy: GatePolicy | null, projectId: string, path: string[]): Issue[] {
  if (!policy?.when) return []
  const compiled = compileSchema(policy.when, projectId, [...path, 'when'])
  return compiled.ok ? [] : [compiled.issue]
}

/** What a tool's gate follows from. */
export const gateSource = choice('GateSource', 'The origin of a gate.', {
  OPERATOR: 'An operator set the gate.',
  DESTRUCTIVE_HINT: 'No gate is set, and destructiveHint of the tool stops every call.',
  DEFAULT: 'No gate is set, and calls pass.',
})
export type GateSource = z.output<typeof gateSource>

/**
 * The gate that applies to a tool: the operator's, else ALWAYS for a tool annotated as destructive (MCP: a human in the
 * loop should confirm), else that of the platform action, else NEVER.
 */
export function gateOf(definition: {
  gate?: GatePolicy | null
  defaultGate?: GatePolicy
  annotations: { destructiveHint?: boolean }
}): GatePolicy & { source: GateSource } {
  if (definition.gate) return { ...definition.gate, source: 'OPERATOR' }
  if (definition.annotations.destructiveHint === true) return { ...gateDefaults, source: 'DESTRUCTIVE_HINT' }
  return { ...(definition.defaultGate ?? { ...gateDefaults, mode: 'NEVER' }), source: 'DEFAULT' }
}

const modes: readonly GateMode[] = ['NEVER', 'WHEN', 'ALWAYS']

/** The strictest gate of several actions: the one that stops most, of such the one that needs most people. */
export function strictestOf<Gate extends GatePolicy>(gates: readonly Gate[]): Gate | undefined {
  const rank = ({ mode, quorum }: Gate) => modes.indexOf(mode) * 100 + quorum
  return gates.toSorted((a, b) => rank(b) - rank(a))[0]
}

/** The policy without its condition: it stops every call. Null: the default one. */
export function alwaysBy(policy: GatePolicy | null): GatePolicy {
  return { ...gateDefaults, ...policy, mode: 'ALWAYS', when: null }
}

/** The policy that stops calls with any of these arguments. */
export function whenGiven(names: readonly string[]): GatePolicy {
  return { ...gateDefaults, mode: 'WHEN', when: { anyOf: names.map((name) => ({ required: [name] })) } }
}

const allowances = ['verdictLinks', 'responses'] as const
type Allowance = (typeof allowances)[number]

/** What a gate allows. The rest is left out, so that digests and hashes of gates without it are what they were. */
export function allowancesOf(is: (name: Allowance) => boolean): { [Name in Allowance]?: true } {
  return Object.fromEntries(allowances.filter(is).map((name) => [name, true]))
}

export const verdictChoice = choice('Verdict', 'The verdict of a person.', {
  APPROVE: 'The call may run once; a proposed change is applied.',
  REJECT: 'The call does not run, and one rejection is enough; a proposed change is not applied.',
})
