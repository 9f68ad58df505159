/** Helpers for tests of verdict links: an endpoint with recipients, questions that allow links, and their forms. */
import { adminKey, type Harness } from './harness.ts'
import { gateFixtures, type GateFixtures } from './gate-fixtures.ts'
import { makeFixtures, type Fixtures } from './fixtures.ts'
import { accept, openReceiver, type Receiver } from './webhook-receiver.ts'

export interface Link {
  principalId: string
  address: string
  url: string
  code: string
}

export interface LinkFixtures {
  fixtures: Fixtures
  gate: GateFixtures
  receiver: Receiver
  webhookId: string
  /** Keys with the role approver, who are the recipients. */
  people: { id: string; secret: string }[]
  /** Stops a call at a gate that allows links; returns the approval and the links of the message. */
  question(
    gate?: object,
    more?: object,
  ): Promise<{ approvalId: string; callId: string; tool: string; toolId: string; links: Link[]; data: any }>
  setRecipients(recipients: object[], key?: string): Promise<Record<string, any>>
  close(): Promise<void>
}

export async function openLinkFixtures(h: Harness, given?: Fixtures): Promise<LinkFixtures> {
  const fixtures = given ?? (await makeFixtures(h))
  const gate = gateFixtures(h, fixtures)
  const receiver = await openReceiver(accept)
  const input = { url: receiver.url, types: ['APPROVAL_REQUESTED', 'APPROVAL_DECIDED'] }
  const made = await h.mutate('createWebhook', input, 'secret webhook { id }', adminKey)
  receiver.secret = made['secret']
  const webhookId = made['webhook'].id as string
  const people = [await gate.key({ role: 'APPROVER' }), await gate.key({ role: 'APPROVER' })]
  const linkFixtures: LinkFixtures = {
    fixtures,
    gate,
    receiver,
    webhookId,
    people,
    async question(policy = {}, more = {}) {
      const tool = await gate.gated({ autoApprove: false, verdictLinks: true, ...policy }, more)
      const call = await gate.call(tool.id, { amount: 5, pin: 'secret-pin' })
      const approvalId = call['approval'].id as string
      const of = (data: any) => data.approvalId === approvalId && data.expiresAt
      await receiver.until((all) => all.some(({ type, data }) => type === 'approval.requested' && of(data)))
      const { data } = receiver.received.find(({ data: one }) => of(one))!
      const links = data['verdictLinks'] ?? []
      return { approvalId, callId: call['id'], tool: tool.name, toolId: tool.id, links, data }
    },
    setRecipients: (recipients, key) =>
      h.mutate(
        'setWebhookRecipients',
        { webhookId, recipients },
        'webhook { recipients { principalId address } }',
        key,
      ),
    async close() {
      if (!given) await fixtures.close()
      await receiver.close()
    },
  }
  await linkFixtures.setRecipients(
    people.map(({ id }, i) => ({ principalId: id, address: `p${i}@example.com` })),
  )
  return linkFixtures
}

let sent = 0

/** Sends the form of a link as a browser would. */
export async function sendForm(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      // Each from an address of its own, where the server trusts this one as a proxy.
      'x-forwarded-for': `10.1.${sent >> 8}.${sent++ & 255}`,
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}
