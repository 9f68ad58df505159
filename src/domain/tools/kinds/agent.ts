/** An agent as a callable: a call passes a message, and its result is the final answer of a child run. Pure. */
import { z } from 'zod'
import { type JsonObject, writeJson } from '../../../core/json.ts'
import type { Callable } from '../callable.ts'
import { clientDefinition } from '../definition.ts'
import { runtimeName } from '../fields.ts'

/** The fields of an agent that a call needs. */
export interface AgentName {
  id: string
  projectId: string
  name: string
  version: number
  createdAt: Date
  updatedAt: Date
}

/** The arguments of a call of an agent, checked by its schema. */
const messageShape = z.object({
  message: z.string(),
  attachments: z.array(z.object({ file_id: z.string() })).optional(),
})

/** The arguments of a call of an agent, which its schema has checked. */
export function agentMessageOf(merged: JsonObject): z.output<typeof messageShape> {
  return messageShape.parse(merged)
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

/** The description of an agent's callable, for models and MCP clients. */
export function describedAgent(name: string): string {
  return `Sends a message to the agent ${writeJson(name)} and returns its final text.`
}

/** The agent as a callable. It has no gate of its own: the gate of the calling agent applies. */
export function agentCallable({ name, ...row }: AgentName): Callable {
  return {
    ...clientDefinition(name, describedAgent(name), inputSchema),
    ...row,
    judgedVersion: row.version,
    kind: 'agent',
    runtimeName: runtimeName([name]),
    action: null,
    definitionHash: null,
    title: name,
  }
}

/** The permission resource of a tool's or agent's id. */
export function resourceOf(id: string): string {
  return id.startsWith('agt_') ? `agent/${id}` : `tool/${id}`
}

/** The platform action that starts a run. A call of it inside a run starts a child run and returns its final text. */
export const startAction = 'start-generation'

/** Whether a call inside a generation starts a child run and waits for its end. */
export function asksAgent(call: Pick<Callable, 'action'> & { kind: string | null }): boolean {
  return call.kind === 'agent' || (call.kind === 'platform' && call.action === startAction)
}
