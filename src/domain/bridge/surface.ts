/** The surface of an agent: what MCP clients are shown, by name. Pure. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Agent } from '../agents/index.ts'
import { offersOf, type Offers } from './offers.ts'
import {
  describedAgent,
  gateOf,
  taskDefaults,
  type TaskPolicy,
  runtimeName,
  shownSchema,
  type Callable,
  type GateMode,
} from '../tools/index.ts'

/** Arguments that every entry takes beside its own. They never reach the tool. */
export const entryNames = {
  idempotencyKey: 'idempotency_key',
  attachments: 'attachments',
  conversation: 'conversation_id',
  wait: 'approval_wait',
} as const

/** One name that can be called. */
export type BridgeEntry = {
  name: string
  title: string | null
  description: string | null
  /** As shown: without presets, with the reserved arguments. */
  inputSchema: JsonObject
  outputSchema: JsonObject | null
  annotations: Callable['annotations']
  /** What else an upstream says of its tool. */
  shown?: Callable['shown']
  /** Whether a person must agree: never, always, or by its arguments. */
  gate: GateMode
} & (
  | { kind: 'tool'; toolId: string; action: string | null; task: TaskPolicy }
  | { kind: 'agent' }
  | { kind: 'wait' }
)

export interface BridgeSurface {
  agent: Agent
  /** In the order in which they are shown: tools as the agent has them, then what is built in. */
  entries: BridgeEntry[]
  byName: ReadonlyMap<string, BridgeEntry>
  offers: Offers
  /** Another surface has another hash: names, schemas and gates. */
  hash: string
}

/**
 * The surface of an agent with what its tools offer, in their order. Client tools are not on it: they run in the
 * calling application. Of two callables with one name the first counts.
 */
export function bridgeSurface(
  agent: Agent,
  callables: readonly Callable[],
  offers: Offers = noOffers,
): BridgeSurface {
  const active = agent.activeToolIds
  const served = new Map<string, BridgeEntry>()
  for (const callable of callables)
    if (callable.kind !== 'client' && (active === null || active.includes(callable.id)))
      if (!served.has(callable.runtimeName)) served.set(callable.runtimeName, toolEntry(callable, agent))
  const entries = [...served.values()]
  const names = new Set(entries.map((entry) => entry.name))
  entries.push(agentEntry(agent, names))
  const gated =
    entries.some((entry) => entry.gate !== 'NEVER') || callables.some((one) => isGated(one, agent))
  if (gated && !names.has(entryNames.wait)) entries.push(waitEntry)
  const hash = hashJson(entries)
  return { agent, entries, byName: new Map(entries.map((entry) => [entry.name, entry])), offers, hash }
}

const noOffers = offersOf([], new Map())

function isGated(tool: Callable, agent: Agent): boolean {
  return modeOf(tool, agent) !== 'NEVER'
}

function modeOf(tool: Callable, { gate }: Agent): GateMode {
  const modes = [gateOf(tool).mode, gate?.mode ?? 'NEVER']
  return modes.includes('ALWAYS') ? 'ALWAYS' : modes.includes('WHEN') ? 'WHEN' : 'NEVER'
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

/** Short on purpose: they stand in every tool of every list, and models read all of it. */
const reserved: JsonObject = {
  [entryNames.idempotencyKey]: {
    type: 'string',
    maxLength: 200,
    description: 'Makes a retry safe for 24 hours.',
  },
  [entryNames.attachments]: {
    type: 'array',
    items: { type: 'object', properties: { file_id: { type: 'string' } }, required: ['file_id'] },
  },
}

/** The names of the reserved arguments that this schema does not use for its own. */
export function reservedIn(schema: JsonObject): string[] {
  const own = (schema['properties'] ?? {}) as JsonObject
  return Object.keys(reserved).filter((name) => own[name] === undefined || own[name] === reserved[name])
}

function withReserved(schema: JsonObject): JsonObject {
  const own = (schema['properties'] ?? {}) as JsonObject
  const lacking = Object.fromEntries(Object.entries(reserved).filter(([name]) => !(name in own)))
  return { type: 'object', ...schema, properties: { ...own, ...lacking } }
}

/** The agent itself. When one of its tools has its name, it is called `ask_{name}`. */
function agentEntry(agent: Agent, taken: Set<string>): BridgeEntry {
  const plain = runtimeName([agent.name])
  const name = !taken.has(plain) && plain !== entryNames.wait ? plain : runtimeName(['ask', plain])
  const properties: JsonObject = {
    message: { type: 'string', minLength: 1, description: 'What to tell or ask the agent.' },
    [entryNames.conversation]: {
      type: 'string',
      description: 'Goes on where an earlier call left off: the conversation_id that it answered.',
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

const waitEntry: BridgeEntry = {
  kind: 'wait',
  name: entryNames.wait,
  title: 'Wait for an approval',
  description:
    'Waits for a call that a person has to approve, and answers its result. It cannot approve anything. ' +
    'Call it again while it answers pending_approval.',
  inputSchema: {
    type: 'object',
    properties: { call_id: { type: 'string', description: 'The call_id of the pending answer.' } },
    required: ['call_id'],
    additionalProperties: false,
  },
  outputSchema: null,
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  gate: 'NEVER',
}
