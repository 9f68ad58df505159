/** The surface of an agent: what MCP clients are shown, by name. Pure. */
import { hashJson, type JsonObject } from '../../core/json.ts'
import type { Agent } from '../agents/index.ts'
import {
  gateOf,
  runtimeName,
  surfaceOf,
  type GateMode,
  type SurfaceEntry,
  type Tool,
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
  annotations: SurfaceEntry['annotations']
  /** Whether a person must agree: never, always, or by its arguments. */
  gate: GateMode
} & ({ kind: 'tool'; toolId: string } | { kind: 'agent' } | { kind: 'wait' })

export interface BridgeSurface {
  agent: Agent
  /** In the order in which they are shown: tools as the agent has them, then what is built in. */
  entries: BridgeEntry[]
  byName: ReadonlyMap<string, BridgeEntry>
  /** Another surface has another hash: names, schemas and gates. */
  hash: string
}

/** The surface of an agent with these tools. Client tools are not on it: they run in the calling application. */
export function bridgeSurface(agent: Agent, tools: readonly Tool[]): BridgeSurface {
  const active = agent.activeToolIds
  const served = agent.toolIds
    .map((id) => tools.find((tool) => tool.id === id))
    .filter((tool) => tool !== undefined)
    .filter((tool) => tool.kind !== 'client' && (active === null || active.includes(tool.id)))
  const byId = new Map(served.map((tool) => [tool.id, tool]))
  const entries: BridgeEntry[] = surfaceOf(served).map((entry) =>
    toolEntry(entry, byId.get(entry.toolId)!, agent),
  )
  const names = new Set(entries.map((entry) => entry.name))
  entries.push(agentEntry(agent, names))
  const gated = entries.some((entry) => entry.gate !== 'NEVER') || tools.some((tool) => isGated(tool, agent))
  if (gated && !names.has(entryNames.wait)) entries.push(waitEntry)
  const hash = hashJson(entries)
  return { agent, entries, byName: new Map(entries.map((entry) => [entry.name, entry])), hash }
}

function isGated(tool: Tool, agent: Agent): boolean {
  return modeOf(tool, agent) !== 'NEVER'
}

function modeOf(tool: Tool, { gate }: Agent): GateMode {
  const modes = [gateOf(tool).mode, gate?.mode ?? 'NEVER']
  return modes.includes('ALWAYS') ? 'ALWAYS' : modes.includes('WHEN') ? 'WHEN' : 'NEVER'
}

function toolEntry(entry: SurfaceEntry, tool: Tool, agent: Agent): BridgeEntry {
  return {
    kind: 'tool',
    toolId: entry.toolId,
    name: entry.runtimeName,
    title: entry.title,
    description: entry.description,
    inputSchema: withReserved(entry.inputSchema),
    outputSchema: entry.outputSchema,
    annotations: entry.annotations,
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
    description: `Gives a message to the agent ${JSON.stringify(agent.name)} and answers its final text.`,
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
