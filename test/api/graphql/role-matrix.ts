/** Which roles may call which root field, one line for each. The tests that iterate over the schema read it. */
import * as access from '../../../src/domain/access/index.ts'
import {
  actionsOf,
  allows,
  operationsIn,
  policyOfRole,
  roles as everyRole,
  type Declaration,
  type Role,
} from '../../../src/domain/access/index.ts'
import * as agents from '../../../src/domain/agents/index.ts'
import * as followers from '../../../src/domain/followers/index.ts'
import * as pauses from '../../../src/domain/pauses/index.ts'
import * as projects from '../../../src/domain/projects/index.ts'
import * as retention from '../../../src/domain/retention/index.ts'
import * as secrets from '../../../src/domain/secrets/index.ts'
import * as signIn from '../../../src/domain/sign-in/index.ts'
import * as tools from '../../../src/domain/tools/index.ts'
import * as triggers from '../../../src/domain/triggers/index.ts'
import { minimalArguments, rootFields, type RootField } from './minimal-input.ts'

export interface Line {
  /** The roles whose keys may call the field; `operator`: only an operator's key. */
  roles: readonly Role[] | 'operator'
  /**
   * What a key that is bound to an agent may do: OPEN: anything of its agent; OWN: what it requested itself; CLOSED:
   * nothing. It never reaches what others requested, and neither does a key with the role of a caller: to them there is no such
   * thing.
   */
  bound: 'OPEN' | 'OWN' | 'CLOSED'
}

const everyone = ['admin', 'developer', 'approver', 'caller', 'viewer'] as const
/** The roles that read everything; a caller reads only what it needs. */
const readers = ['admin', 'developer', 'approver', 'viewer'] as const
const builders = ['admin', 'developer'] as const
const callers = ['admin', 'developer', 'caller'] as const
const deciders = ['admin', 'approver'] as const
const admins = ['admin'] as const

const line = (roles: Line['roles'], bound: Line['bound'] = 'CLOSED'): Line => ({ roles, bound })

/** The roles that have every permission which an operation always needs. */
export const rolesFor = ({ permission }: Pick<Declaration, 'permission'>): Role[] =>
  everyRole.filter((role) =>
    actionsOf({ permission }).every((action) => allows(policyOfRole(role), action, 'x/*')),
  )

const declared = [access, agents, followers, pauses, projects, retention, secrets, signIn, tools, triggers]
  .flatMap(operationsIn)
  .map((one) => [one.declaration.name, line(rolesFor(one.declaration))] as const)

export const matrix: Record<string, Line> = {
  ...Object.fromEntries(declared),
  node: line(everyone, 'OWN'),
  nodes: line(everyone, 'OWN'),
  viewer: line(everyone, 'OPEN'),
  project: line(everyone),
  projects: line(readers),
  projectSummary: line(readers),
  statistics: line(readers),
  setModelPrice: line(builders),
  deleteModelPrice: line(builders),
  apiKeys: line(readers),
  secrets: line(readers),
  savedViews: line(readers),
  // One of the project; an own one may be deleted by whoever has saved it.
  deleteView: line(['admin', 'developer', 'approver']),
  auditEntries: line(readers),
  tool: line(everyone),
  tools: line(everyone),
  platformActions: line(everyone),
  evaluateGate: line(everyone),
  previewGate: line(readers),
  gateAdvice: line(readers),
  toolCall: line(everyone, 'OWN'),
  toolCalls: line(readers),
  agent: line(everyone, 'OPEN'),
  agents: line(everyone),
  pauses: line(everyone),
  gateChange: line(readers),
  gateChanges: line(readers),
  approval: line(everyone, 'OWN'),
  approvals: line(readers),
  approvalTally: line(readers),
  grants: line(readers),
  file: line(everyone, 'OWN'),
  files: line(readers),
  generation: line(everyone, 'OWN'),
  generations: line(everyone),
  generationTally: line(everyone),
  thread: line(everyone, 'OWN'),
  threads: line(everyone),
  providers: line(readers),
  modelProviders: line(readers),
  rateLimits: line(readers),
  sessions: line(readers),
  webhook: line(readers),
  webhooks: line(readers),
  slackIntegration: line(readers),
  trigger: line(readers),
  triggers: line(readers),
  retention: line(readers),
  retentionPreview: line(readers),
  legalHolds: line(readers),
  dataRemovals: line(readers),
  removedGenerations: line(everyone),

  createProject: line('operator'),
  killServer: line('operator'),
  acceptUpstreamChange: line(admins),
  refreshUpstream: line(builders),
  connectUpstream: line(builders),
  disconnectUpstream: line(builders),
  logInToUpstream: line(callers),
  logOutOfUpstream: line(callers),
  testUpstream: line(builders),
  callTool: line(callers),
  addCodingAgent: line(builders),
  askPermission: line(callers),
  reportToolCall: line(callers, 'OWN'),
  cancelToolCall: line(callers, 'OWN'),
  resolveUnknownCall: line(deciders),
  proposeGateChange: line(admins),
  decideGateChange: line(admins),
  decideApproval: line(deciders),
  decideApprovals: line(deciders),
  claimApproval: line(deciders),
  releaseApproval: line(deciders),
  extendApproval: line(deciders),
  revokeGrant: line(deciders),
  presignUpload: line(callers),
  deleteFile: line(builders),
  startGeneration: line(callers, 'OPEN'),
  createThread: line(callers, 'OPEN'),
  submitToolOutputs: line(callers, 'OWN'),
  cancelGeneration: line(callers, 'OWN'),
  cancelGenerations: line(callers),
  setProvider: line(builders),
  deleteProvider: line(builders),
  testProvider: line(builders),

  generationEvents: line(everyone, 'OWN'),
  projectEvents: line(everyone),
}

/** The line of a root field. Throws an error that says what to add for a field without one. */
export function lineOf(name: string): Line {
  const found = matrix[name]
  if (found) return found
  throw new Error(
    `The field ${name} has no line in test/api/graphql/role-matrix.ts: add "${name}: line(<the roles that may>, ` +
      `<what a key bound to an agent may>)", and what its input needs to extrasOf in furnished-project.ts.`,
  )
}

const kindsRequested = ['gen_', 'thr_', 'call_', 'apr_', 'file_']

/** Whether the field is about one thing of a principal: to those who do not reach it there is no such thing. */
export function isOnRequested(root: RootField): boolean {
  const ids = Object.fromEntries(kindsRequested.map((prefix) => [prefix, prefix]))
  const given = JSON.stringify(minimalArguments(root, { ids: { any: '', ...ids }, extras: {} }))
  return /^nodes?$/.test(root.name) || kindsRequested.some((prefix) => given.includes(`"${prefix}"`))
}

/** Whether the field hides from this role what another principal requested, instead of refusing it. */
export function hides(role: Role, root: RootField): boolean {
  // A direct call is withdrawn by its caller alone.
  return role === 'caller' ? isOnRequested(root) : ['cancelToolCall', 'reportToolCall'].includes(root.name)
}

/** The root fields that refuse this role, for things that another principal requested. */
export function refusedTo(role: Role): string[] {
  return rootFields
    .filter((root) => !hides(role, root))
    .map((root) => root.name)
    .filter((name) => {
      const { roles } = lineOf(name)
      return roles === 'operator' || !roles.includes(role)
    })
}
