/** Policy documents, the built-in roles and their evaluation. Pure. */
import { z } from 'zod'
import { invalid, type Issue } from '../../../core/errors.ts'
import { choice } from '../../../core/shapes.ts'

/** Every action of an operation. A policy with another action is refused when it is written. */
export const actions = [
  'projects:Create',
  'projects:Get',
  'projects:List',
  'projects:Update',
  'projects:Pause',
  'keys:Create',
  'keys:Get',
  'keys:List',
  'keys:Revoke',
  'persons:ActFor',
  'tools:Create',
  'tools:Update',
  'tools:Delete',
  'tools:Get',
  'tools:List',
  'tools:Call',
  'tools:Read',
  'tools:Connect',
  'connectors:Serve',
  'toolCalls:Get',
  'toolCalls:List',
  'toolCalls:Resolve',
  'gates:Get',
  'gates:List',
  'gates:Update',
  'agents:Create',
  'agents:Update',
  'agents:Delete',
  'agents:Get',
  'agents:List',
  'generations:Start',
  'generations:Get',
  'generations:List',
  'generations:SubmitToolOutputs',
  'generations:Cancel',
  'generations:ReachOthers',
  'events:Subscribe',
  'providers:Set',
  'providers:Delete',
  'providers:List',
  'providers:Test',
  'files:Create',
  'files:Get',
  'files:List',
  'files:Delete',
  'secrets:Set',
  'secrets:Delete',
  'secrets:Use',
  'secrets:List',
  'approvals:Get',
  'approvals:List',
  'approvals:Decide',
  'grants:Get',
  'grants:List',
  'grants:Revoke',
  'audit:List',
  'webhooks:Create',
  'webhooks:Update',
  'webhooks:Delete',
  'webhooks:Get',
  'webhooks:List',
  'webhooks:Send',
  'webhooks:Callback',
  'webhooks:SetRecipients',
  'triggers:Create',
  'triggers:Update',
  'triggers:Delete',
  'triggers:Get',
  'triggers:List',
  'slack:Get',
  'slack:Set',
  'slack:Delete',
  'slack:LinkUser',
  'retention:Get',
  'retention:Set',
  'retention:Hold',
  'retention:Remove',
  'views:Save',
  'views:Share',
  'views:List',
  'server:Kill',
  'limits:Set',
  'limits:List',
  'sessions:Start',
  'sessions:List',
  'sessions:End',
] as const

export type Action = (typeof actions)[number]

/** One rule. `action` and `resource` may end or begin with `*`, as in `tools:*`, `*:Get`, `tool/*`. */
export interface Statement {
  effect: 'Allow' | 'Deny'
  action: string[]
  resource: string[]
}

export interface Policy {
  statement: Statement[]
}

/** What reaches that which other principals requested. */
export const reachingOthers: Policy = {
  statement: [{ effect: 'Allow', action: ['generations:ReachOthers'], resource: ['*'] }],
}

export const role = choice('Role', 'A built-in set of permissions.', {
  admin: 'The role allows everything in the project.',
  developer:
    'The role manages tools, agents, providers, secrets and generations, but no API keys and no verdicts.',
  approver:
    'The role reads everything, decides approvals, revokes grants and resolves calls with status UNKNOWN.',
  caller: 'The role calls tools and runs agents.',
  viewer: 'The role reads everything and subscribes to events.',
})
export const roles = role.options
export type Role = z.output<typeof role>

const reading = [
  '*:Get',
  '*:List',
  'events:Subscribe',
  'sessions:Start',
  'generations:ReachOthers',
  'views:Save',
]
const running = [
  'generations:Start',
  'generations:SubmitToolOutputs',
  'generations:Cancel',
  'tools:Call',
  'tools:Read',
  'webhooks:Callback',
]

const roleActions: Record<Role, string[]> = {
  admin: ['*'],
  developer: [
    ...reading,
    ...running,
    'tools:*',
    'connectors:*',
    'agents:*',
    'providers:*',
    'secrets:*',
    'files:*',
    'webhooks:*',
    'triggers:*',
    'views:Share',
    'projects:Pause',
  ],
  approver: [
    ...reading,
    'approvals:Decide',
    'grants:Revoke',
    'toolCalls:Resolve',
    'views:Share',
    'projects:Pause',
  ],
  caller: [
    'tools:Get',
    'tools:List',
    'agents:Get',
    'agents:List',
    'toolCalls:Get',
    'approvals:Get',
    'files:Create',
    'files:Get',
    'events:Subscribe',
    'generations:Get',
    'generations:List',
    'projects:Get',
    'sessions:Start',
    ...running,
  ],
  viewer: reading,
}

/**
 * The policy with which a tool acts for this one: it changes no gate, and confirms no change of a gate, unless the policy
 * names these actions. A pattern such as `*` does not name them.
 */
export function withoutGates(policy: Policy): Policy {
  const named = policy.statement.some(
    ({ effect, action }) => effect === 'Allow' && action.some((pattern) => pattern.startsWith('gates:')),
  )
  if (named) return policy
  return {
    statement: [...policy.statement, { effect: 'Deny', action: ['gates:Update'], resource: ['*'] }],
  }
}

/** The policy of a built-in role. */
export function policyOfRole(of: Role): Policy {
  return { statement: [{ effect: 'Allow', action: roleActions[of], resource: ['*'] }] }
}

/** Whether the policy allows the action on the resource (`tool/tool_…`). A Deny wins; without an Allow it is denied. */
export function allows(policy: Policy, action: Action, resource: string): boolean {
  let allowed = false
  for (const statement of policy.statement) {
    const applies =
      statement.action.some((p) => fitsPattern(p, action)) &&
      statement.resource.some((p) => fitsPattern(p, resource))
    if (!applies) continue
    if (statement.effect === 'Deny') return false
    allowed = true
  }
  return allowed
}

/**
 * The actions that the policy allows on some resource, each with whether it is on every one. An action of which a Deny
 * statement names resources is allowed on some; one that is denied everywhere is left out.
 */
export function allowedActions(policy: Policy): { action: Action; resources: 'ALL' | 'SOME' }[] {
  return actions.flatMap((action) => {
    const about = policy.statement.filter((one) => one.action.some((p) => fitsPattern(p, action)))
    const names = (effect: 'Allow' | 'Deny', all: boolean) =>
      about.some((one) => one.effect === effect && (!all || one.resource.includes('*')))
    if (!names('Allow', false) || names('Deny', true)) return []
    return [{ action, resources: names('Allow', true) && !names('Deny', false) ? 'ALL' : 'SOME' } as const]
  })
}

/** Whether the value matches a pattern in which `*` is any text. Linear time: no untrusted pattern can backtrack. */
export function fitsPattern(pattern: string, value: string): boolean {
  const pieces = pattern.split('*')
  if (pieces.length === 1) return pattern === value
  const first = pieces[0]!
  const last = pieces.at(-1)!
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length)
    return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = value.indexOf(piece, at)
    if (found < 0 || found + piece.length > value.length - last.length) return false
    at = found + piece.length
  }
  return true
}

const pattern = z.string().min(1).max(200)
const shape = z.object({
  statement: z
    .array(
      z.object({
        effect: z.enum(['Allow', 'Deny'], 'must be "Allow" or "Deny"'),
        action: z.array(pattern).min(1).max(100),
        resource: z.array(pattern).min(1).max(100),
      }),
    )
    .min(1)
    .max(50),
})

/** The validated policy. Throws INVALID with every fault, such as an action pattern that matches no known action. */
export function checkPolicy(value: unknown, root: string[]): Policy {
  const result = shape.safeParse(value)
  const issues: Issue[] = result.success
    ? unknownActions(result.data, root)
    : result.error.issues.map((issue) => ({
        path: [...root, ...issue.path.map(String)],
        message: issue.message,
      }))
  if (issues.length > 0 || !result.success) throw invalid(issues)
  return result.data
}

function unknownActions(policy: Policy, root: string[]): Issue[] {
  return policy.statement.flatMap((statement, s) =>
    statement.action.flatMap((action, a) =>
      actions.some((known) => fitsPattern(action, known))
        ? []
        : [
            {
              path: [...root, 'statement', String(s), 'action', String(a)],
              message: 'matches no known action',
            },
          ],
    ),
  )
}

/**
 * The policy that a key with the policy `creator` may grant when `wanted` is requested: `wanted` with the Deny
 * statements of the creator. Null when `wanted` allows anything that the creator may not do.
 */
export function within(creator: Policy, wanted: Policy): Policy | null {
  for (const statement of wanted.statement) {
    if (statement.effect === 'Deny') continue
    for (const action of actions.filter((known) => statement.action.some((p) => fitsPattern(p, known))))
      for (const resource of statement.resource) if (!mayGrant(creator, action, resource)) return null
  }
  const denials = creator.statement.filter((statement) => statement.effect === 'Deny')
  return { statement: [...denials, ...wanted.statement] }
}

/**
 * Deny statements are copied to the new policy, so only Allow counts here. A resource pattern must be covered as a
 * whole.
 */
function mayGrant(creator: Policy, action: Action, resource: string): boolean {
  return creator.statement.some(
    (statement) =>
      statement.effect === 'Allow' &&
      statement.action.some((p) => fitsPattern(p, action)) &&
      statement.resource.some((p) => p === resource || fitsPattern(p, resource)),
  )
}
