/** The first question that is decided on a new server: what a person does after installing it. */
import { vi } from 'vitest'
import { ask, mutate } from './ask.ts'

/** Makes a gated tool and an agent, starts a run and approves its call. Resolves when the client may run the call. */
export async function firstDecision(url: string, key: string): Promise<void> {
  const config = { client: { inputSchema: { type: 'object' } } }
  const gate = { autoApprove: false, timeoutSeconds: 600 }
  const { tool } = await mutate(url, key, 'createTool', { name: 'refund', gate, config }, 'tool { id }')
  const input = { name: 'first', model: 'builtin/rehearsal', toolIds: [tool.id] }
  const { agent } = await mutate(url, key, 'createAgent', input, 'agent { id }')
  const run = { agentId: agent.id, prompt: 'call refund {}\nthen\nsay done' }
  const { generation } = await mutate(url, key, 'startGeneration', run, 'generation { id }')
  const text = 'query($id: ID!) { generation(id: $id) { status requiredAction { approvals { id } } } }'
  const state = async () => (await ask(url, key, text, { id: generation.id })).data['generation']
  const [{ id: approvalId }] = await vi.waitUntil(
    async () => {
      const approvals = (await state()).requiredAction?.approvals ?? []
      return approvals.length > 0 && approvals
    },
    { timeout: 90_000, interval: 20 },
  )
  await mutate(url, key, 'decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
  await vi.waitUntil(async () => (await state()).status === 'REQUIRES_ACTION', {
    timeout: 90_000,
    interval: 20,
  })
}
