/** A shop with a refund tool whose calls wait for a person: what the journeys of the dashboard are played on. */
import { openHarness, type Harness } from './harness.ts'
import { startLoopback, type Loopback } from './loopback.ts'
import { objectSchema } from './fixtures.ts'
import type { Config } from '../../src/config.ts'

export interface Shop {
  h: Harness
  /** What runs the refunds; `seen` has its requests. */
  till: Loopback
  agentId: string
  refundId: string
  /** A key of a person with this role. */
  person(name: string, role?: string): Promise<{ id: string; secret: string }>
  /** Asks for a refund. Resolves with its approval and run once it waits. */
  ask(order: string, amount?: number, more?: object): Promise<{ approvalId: string; generationId: string }>
  /** The approval as it is now. */
  approval(id: string): Promise<Record<string, any>>
  /** Rejects whatever still waits. */
  settle(): Promise<void>
  close(): Promise<void>
}

const refundSchema = objectSchema(
  {
    order_id: { type: 'string', description: 'The number of the order.' },
    amount: { type: 'number', minimum: 0, description: 'In euros.' },
    card: { type: 'string', writeOnly: true, description: 'The card that gets the money.' },
    note: { type: 'string' },
    currency: { type: 'string' },
  },
  ['order_id', 'amount'],
)

interface ShopOptions {
  config?: Partial<Config>
  /** Fields of the gate beside its mode. */
  gate?: object
  /** Whether the refund is marked destructive. */
  isDestructive?: boolean
}

export async function openShop({
  config = {},
  gate = {},
  isDestructive = false,
}: ShopOptions = {}): Promise<Shop> {
  const h = await openHarness(config)
  const till = await startLoopback((request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ refunded: request.body }))
  })
  const tool = await h.mutate(
    'createTool',
    {
      name: 'send_refund',
      title: 'Send a refund',
      description: 'Sends money back to a customer.',
      annotations: { destructiveHint: isDestructive },
      config: { http: { url: `${till.url}/refund`, method: 'POST', inputSchema: refundSchema } },
      presetParameters: { currency: 'EUR' },
      gate: { mode: 'ALWAYS', timeoutSeconds: 600, ...gate },
    },
    'tool { id }',
  )
  const refundId = tool['tool']?.id as string
  if (!refundId) throw new Error(JSON.stringify(tool))
  const agent = await h.mutate('createAgent', { name: 'shop assistant', toolIds: [refundId] }, 'agent { id }')
  const agentId = agent['agent'].id as string
  return {
    h,
    till,
    agentId,
    refundId,
    async person(name, role = 'APPROVER') {
      const made = await h.mutate('createApiKey', { name, role }, 'secret apiKey { id }')
      return { id: made['apiKey'].id, secret: made['secret'] }
    },
    async ask(order, amount = 250, more = {}) {
      const prompt = `call send_refund ${JSON.stringify({ order_id: order, amount, ...more })}`
      const started = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }')
      const generationId = started['generation'].id as string
      const waiting = await h.until(
        generationId,
        ['AWAITING_APPROVAL'],
        'requiredAction { approvals { id } }',
      )
      return { generationId, approvalId: waiting['requiredAction'].approvals[0].id }
    },
    async approval(id) {
      const { data } = await h.gql(
        `query($id: ID!) { approval(id: $id) { status arguments votes { byName verdict reason }
          toolCall { status arguments editedArguments } generation { id status } } }`,
        { id },
      )
      return data['approval']
    },
    async settle() {
      const { data } = await h.gql(
        '{ approvals(filter: { statuses: [PENDING] }, first: 100) { nodes { id generation { id } } } }',
      )
      for (const { id, generation } of data['approvals'].nodes) {
        await h.mutate('decideApproval', { approvalId: id, verdict: 'REJECT' }, 'approval { id }')
        if (generation) await h.until(generation.id, ['COMPLETED', 'FAILED'])
      }
    },
    async close() {
      await h.stop()
      await till.close()
    },
  }
}
