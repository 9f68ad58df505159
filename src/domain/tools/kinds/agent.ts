/** Another agent as something that can be called: a message goes in, the final answer of its run comes out. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import type { Callable } from '../callable.ts'
import { runtimeName } from '../names.ts'

/** What must be known of an agent to call it. */
export interface AgentName {
  id: string
  projectId: string
  name: string
  version: number
  createdAt: Date
  updatedAt: Date
}

/** The arguments of a call of an agent, checked by its schema. */
export interface AgentMessage {
  message: string
  attachments?: { file_id: string }[]
}

const inputSchema: JsonObject = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, description: 'What to tell or ask the agent.' },
    attachments: {
      type: 'array',
      maxItems: 20,
      description: 'Files that go with the message.',
      items: {
        type: 'object',
        properties: { file_id: { type: 'string' } },
        required: ['file_id'],
        additionalProperties: false,
      },
    },
  },
  required: ['message'],
  additionalProperties: false,
}

/** What models and MCP clients are told of calling an agent. */
export function describedAgent(name: string): string {
  return `Sends a message to the agent ${JSON.stringify(name)} and returns its final text.`
}

/** The agent under its runtime name. It has no gate of its own: that of the agent that asks it holds. */
export function agentCallable({ name, ...row }: AgentName): Callable {
  return {
    ...row,
    name,
    kind: 'agent',
    runtimeName: runtimeName([name]),
    action: null,
    definitionHash: null,
    title: name,
    description: describedAgent(name),
    inputSchema,
    outputSchema: null,
    annotations: {},
    presetParameters: {},
    timeoutMs: null,
    idempotent: null,
    http: null,
  }
}

/** What a permission for calls of this id is asked on: a tool, or an agent. */
export function resourceOf(id: string): string {
  return id.startsWith('agt_') ? `agent/${id}` : `tool/${id}`
}

/** The platform action that starts a run. Called inside a run, it is a run within it and answers the final text. */
export const startAction = 'start-generation'

/** Whether such a call starts a run of an agent and waits for its end. Of calls inside a generation only. */
export function asksAgent(call: Pick<Callable, 'action'> & { kind: string | null }): boolean {
  return call.kind === 'agent' || (call.kind === 'platform' && call.action === startAction)
}
