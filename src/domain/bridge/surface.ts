/** The surface of an agent: the tools that MCP clients see, by name. Pure. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { ToolResult } from '../../core/content.ts'
import { invalid } from '../../core/errors.ts'
import type { Agent } from '../agents/index.ts'
import type { GateMode } from '../gates/index.ts'
import {
  describedAgent,
  policiesOf,
  taskDefaults,
  type TaskPolicy,
  freeName,
  runtimeName,
  searchDefinition,
  searchName,
  searchResult,
  shownSchema,
  type Callable,
} from '../tools/index.ts'
import { featuresOf, type UpstreamFeatures } from './features.ts'

/** Names that the bridge reserves: arguments that never reach a tool, and the built-in tools. */
export const reservedNames = {
  idempotencyKey: 'idempotency_key',
  attachments: 'attachments',
  conversation: 'conversation_id',
  wait: 'approval_wait',
  cancel: 'approval_cancel',
} as const

/** A tool in the list of an agent. */
export type BridgeEntry = {
  name: string
  title: string | null
  description: string | null
  /** As listed: without presets, with the reserved arguments. */
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  annotations: Callable['annotations']
  /** Icons and `_meta` of an upstream's tool. */
  shown?: Callable['shown']
  /** Whether a call needs approval: never, always, or depending on its arguments. */
  gate: GateMode
} & (
  | { kind: 'tool'; toolId: string; action: string | null; task: TaskPolicy }
  | { kind: 'agent' }
  | { kind: 'search' }
  | { kind: 'call' }
  | { kind: 'wait' }
  | { kind: 'cancel' }
)

export interface BridgeSurface {
  agent: Agent
  /** In listed order: the agent's tools, or those with which they are found and called; the agent itself; the built-in tools. */
  entries: BridgeEntry[]
  /** All tools, and the built-in ones also where they are not listed: a late call, or one whose gate is gone, names them. */
  byName: ReadonlyMap<string, BridgeEntry>
  features: UpstreamFeatures
  /** The callables behind the entries of tools, by name. */
  callables: ReadonlyMap<string, Callable>
  /** The hashes of the catalogs that the surface was made from, by tool; null: the upstream was never read. */
  catalogHashes: ReadonlyMap<string, string | null>
  /** Changes when a name, schema, description or gate of an entry changes. */
  hash: string
}

/**
 * Builds the surface of an agent from the callables of its tools, in their order. Leaves out client tools, which run in
 * the calling application. When two callables have the same name, the first is used.
 */
export function bridgeSurface(
  agent: Agent,
  callables: readonly Callable[],
  features: UpstreamFeatures = noFeatures,
  catalogHashes: ReadonlyMap<string, string | null> = new Map(),
): BridgeSurface {
  const active = agent.activeToolIds
  const served = new Map<string, Callable>()
  for (const callable of callables)
    if (callable.kind !== 'client' && (active === null || active.includes(callable.id)))
      if (!served.has(callable.runtimeName)) served.set(callable.runtimeName, callable)
  const tools: BridgeEntry[] = [...served.values()].map((callable) => toolEntry(callable, agent))
  const names = new Set(tools.map((entry) => entry.name))
  const isSearched = agent.toolLoading === 'SEARCH' && tools.length > agent.toolLoadingThreshold
  const entries = isSearched ? searchEntries([...served.values()]) : [...tools]
  entries.push(agentEntry(agent, new Set([...names, ...entries.map((entry) => entry.name)])))
  const gated = tools.some((entry) => entry.gate !== 'NEVER') || callables.some((one) => isGated(one, agent))
  const builtIn = builtInEntries.filter(({ name }) => !names.has(name))
  if (gated) entries.push(...builtIn)
  const hash = hashJson(entries)
  const byName = new Map([...tools, ...entries, ...builtIn].map((entry) => [entry.name, entry]))
  return { agent, entries, byName, features, callables: served, catalogHashes, hash }
}

const noFeatures = featuresOf([], new Map())

function isGated(tool: Callable, agent: Agent): boolean {
  return modeOf(tool, agent) !== 'NEVER'
}

function modeOf(tool: Callable, { gate }: Agent): GateMode {
  const modes = policiesOf(tool, gate ? [gate] : []).map(({ mode }) => mode)
  // A call for a person who has not logged in waits as one at a gate.
  return modes.includes('ALWAYS') ? 'ALWAYS' : modes.includes('WHEN') || tool.mcp?.login ? 'WHEN' : 'NEVER'
}

function toolEntry(tool: Callable, agent: Agent): BridgeEntry {
  return {
    kind: 'tool',
    toolId: tool.id,
    action: tool.action,
    task: tool.task ?? taskDefaults,
    name: tool.runtimeName,
    title: tool.title,
    description: tool.description,
    inputSchema: withReserved(shownSchema(tool)),
    outputSchema: tool.outputSchema,
    annotations: tool.annotations,
    ...(tool.shown ? { shown: tool.shown } : {}),
    gate: modeOf(tool, agent),
  }
}

/** Short on purpose: every listed tool contains them, and models read every list. */
const reservedSchemas: JsonObject = {
  [reservedNames.idempotencyKey]: {
    type: 'string',
    maxLength: 200,
    description: 'Makes a retry safe for 24 hours.',
  },
  [reservedNames.attachments]: {
    type: 'array',
    items: { type: 'object', properties: { file_id: { type: 'string' } }, required: ['file_id'] },
  },
}

/** The reserved arguments that this listed schema takes; a tool's own argument of the same name is not one. */
export function reservedArguments(schema: JsonObject): string[] {
  const own = (schema['properties'] ?? {}) as JsonObject
  return Object.keys(reservedSchemas).filter(
    (name) => own[name] === undefined || own[name] === reservedSchemas[name],
  )
}

function withReserved(schema: JsonObject): JsonObject {
  const own = (schema['properties'] ?? {}) as JsonObject
  const added = Object.fromEntries(Object.entries(reservedSchemas).filter(([name]) => !(name in own)))
  return { type: 'object', ...schema, properties: { ...own, ...added } }
}

/** The tool that runs the agent itself, named after it; `ask_{name}` when one of its tools has that name. */
function agentEntry(agent: Agent, taken: Set<string>): BridgeEntry {
  const plain = runtimeName([agent.name])
  const isFree = !taken.has(plain) && !builtInEntries.some((entry) => entry.name === plain)
  const name = isFree ? plain : runtimeName(['ask', plain])
  const properties: JsonObject = {
    message: { type: 'string', minLength: 1, description: 'The message to the agent.' },
    [reservedNames.conversation]: {
      type: 'string',
      description:
        'Continues an earlier conversation: the gatehouse/conversation_id in the _meta of its result.',
    },
  }
  return {
    kind: 'agent',
    name,
    title: agent.name,
    description: describedAgent(agent.name),
    inputSchema: withReserved({
      type: 'object',
      properties,
      required: ['message'],
      additionalProperties: false,
    }),
    outputSchema: null,
    annotations: {},
    gate: 'NEVER',
  }
}

const ofPendingCall: Pick<BridgeEntry, 'inputSchema' | 'outputSchema' | 'gate'> = {
  inputSchema: {
    type: 'object',
    properties: { call_id: { type: 'string', description: 'The call_id of the pending_approval result.' } },
    required: ['call_id'],
    additionalProperties: false,
  },
  outputSchema: null,
  gate: 'NEVER',
}

const builtInEntries: readonly BridgeEntry[] = [
  {
    ...ofPendingCall,
    kind: 'wait',
    name: reservedNames.wait,
    title: 'Wait for an approval',
    description:
      'Waits for a call that a person has to approve, and returns its result. It cannot approve anything. ' +
      'Call it again while it returns pending_approval.',
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    ...ofPendingCall,
    kind: 'cancel',
    name: reservedNames.cancel,
    title: 'Withdraw a call',
    description:
      'Withdraws a call that a person has to approve: it is not run, and nobody can approve it any more.',
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
]

/** The tools with which those that are not listed are found and called. */
function searchEntries(tools: readonly Callable[]): BridgeEntry[] {
  const isTaken = (name: string) => tools.some((tool) => tool.runtimeName === name)
  const callName = freeName('call_tool', isTaken)
  const next = `Call what it finds by its name, or with ${callName}.`
  const none = { outputSchema: null, gate: 'NEVER' } as const
  return [
    {
      ...none,
      ...searchDefinition(tools, next),
      kind: 'search',
      name: freeName(searchName, isTaken),
      title: 'Find tools',
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    {
      ...none,
      kind: 'call',
      name: callName,
      title: 'Call a tool',
      description:
        'Calls a tool by its name, as if it were listed. Its arguments are those of its own inputSchema.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string' }, arguments: { type: 'object' } },
        required: ['name'],
        additionalProperties: false,
      },
      annotations: {},
    },
  ]
}

/** What a search finds on this surface, each tool with the schema that a call needs. Throws INVALID. */
export function searchSurface({ agent, byName, callables }: BridgeSurface, given: JsonObject): ToolResult {
  const tools = [...byName.values()].flatMap(({ kind, name }) =>
    kind === 'tool' ? [callables.get(name)!] : [],
  )
  const found = searchResult(tools, given, agent.projectId, ({ runtimeName: name }) => {
    const { description, inputSchema, gate } = byName.get(name)!
    const gated = gate === 'NEVER' ? {} : { gate: gate.toLowerCase() }
    return { ...(description ? { description } : {}), inputSchema, ...gated }
  })
  if (!found.ok) throw invalid(found.issues)
  return found.result
}
