/** Callbacks: the events of one generation or one direct call, sent to a URL until the last one. */
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { forgetOldDeliveries } from '../../../src/domain/followers/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { accept, openReceiver } from '../../support/webhook-receiver.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const receiver = await forFile(openReceiver())
beforeEach(() => {
  receiver.received.length = 0
  receiver.secret = null
  receiver.respond = accept
})

const count = async (table: string): Promise<number> =>
  (await query<{ n: number }>(h.app.services.db, sql`select count(*)::int as n from ${sql.raw(table)}`))[0]!.n
const gone = () =>
  expect.poll(async () => (await count('webhooks')) + (await count('webhook_cursors'))).toBe(0)
const own = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='

test('a generation is told to its callback from its first event to its last, which removes the callback', async () => {
  const agentId = await fixtures.agent()
  receiver.secret = own
  const id = await fixtures.start(agentId, 'call ask {"word":"x"}\nthen\nsay done', {
    callback: { url: receiver.url, secret: own },
  })
  await receiver.until((received) => received.some(({ type }) => type === 'generation.requires_action'))
  expect(await count('webhooks')).toBe(1)
  await fixtures.answer(id)
  await receiver.until((received) => received.some(({ type }) => type === 'generation.completed'))
  await gone()
  const seqs = receiver.received.map(({ data }) => data['seq'] as number).toSorted((a, b) => a - b)
  expect(seqs).toEqual(seqs.map((_, i) => i + 1))
  expect(receiver.received.every(({ data }) => data['generationId'] === id)).toBe(true)
  expect(receiver.refused).toEqual([])
})

test('a callback without a secret is signed with the one in the payload, which a repeat gets again', async () => {
  const agentId = await fixtures.agent()
  const input = { agentId, prompt: 'say hi', idempotencyKey: 'k1', callback: { url: receiver.url } }
  // Answered only when the test knows the secret.
  let release = () => {}
  const known = new Promise<void>((resolve) => (release = resolve))
  const raws: { raw: string; headers: Record<string, string> }[] = []
  receiver.respond = (got, response) => {
    raws.push({ raw: got.raw, headers: got.headers as Record<string, string> })
    void known.then(() => accept(got, response))
  }
  const fields = 'generation { id } callbackSecret'
  const first = await h.mutate('startGeneration', input, fields)
  const repeat = await h.mutate('startGeneration', input, fields)
  expect(repeat).toEqual(first)
  release()
  await receiver.until((received) => received.some(({ type }) => type === 'generation.completed'))
  const { Webhook } = await import('standardwebhooks')
  for (const { raw, headers } of raws) new Webhook(first['callbackSecret']).verify(raw, headers)
  await gone()
})

test('a gated direct call is told to its callback through its approval, with masked arguments when they are asked for', async () => {
  const inputSchema = {
    type: 'object',
    properties: { word: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
  }
  const { tool } = await h.mutate(
    'createTool',
    {
      name: 'gated',
      gate: { autoApprove: false, title: 'Say {word}' },
      config: { http: { url: `${fixtures.upstream.url}/act`, inputSchema } },
    },
    'tool { id }',
  )
  const { toolCall, callbackSecret } = await h.mutate(
    'callTool',
    {
      toolId: tool.id,
      arguments: { word: 'w', pin: 'p1234' },
      callback: { url: receiver.url, full: true },
    },
    'toolCall { id approval { id expiresAt } } callbackSecret',
  )
  expect(callbackSecret).toMatch(/^whsec_/)
  await receiver.until((received) => received.length > 0)
  const approvalId = toolCall.approval.id
  expect(receiver.received[0]).toMatchObject({
    type: 'approval.requested',
    data: {
      approvalId,
      toolCallId: toolCall.id,
      name: 'gated',
      expiresAt: toolCall.approval.expiresAt,
      link: `${h.url}/approvals/${approvalId}`,
      summary: 'Say w',
      arguments: { word: 'w', pin: '[masked]' },
    },
  })
  // Events of others are not for this callback.
  await h.mutate('createAgent', { name: 'other' }, '__typename')
  await h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, '__typename')
  await receiver.until((received) => received.some(({ type }) => type === 'tool_call.settled'))
  await gone()
  expect(receiver.received.map(({ type }) => type).toSorted()).toEqual([
    'approval.decided',
    'approval.requested',
    'tool_call.settled',
    'tool_call.started',
  ])
})

test('a callback whose endpoint is gone stays as a disabled webhook that says so, and after a month nothing of it', async () => {
  receiver.respond = (_got, response) =>
    void response.writeHead(receiver.received.length > 1 ? 410 : 500).end()
  const agentId = await fixtures.agent()
  const id = await fixtures.start(agentId, 'say hi', { callback: { url: receiver.url } })
  const list = async () =>
    (await h.gql('{ webhooks(callbacks: true) { nodes { callbackOf status disabledReason } } }')).data[
      'webhooks'
    ].nodes
  await expect.poll(list).toEqual([{ callbackOf: id, status: 'DISABLED', disabledReason: 'GONE' }])
  expect((await h.gql('{ webhooks { nodes { id } } }')).data['webhooks'].nodes).toEqual([])
  await query(h.app.services.db, sql`update webhooks set disabled_at = now() - interval '31 days'`)
  await forgetOldDeliveries(h.app.services.db)
  await gone()
  expect(await count('webhook_deliveries')).toBe(0)
})

test('a callback needs its permission and a URL and a secret that can be used', async () => {
  const agentId = await fixtures.agent()
  const start = (callback: object, key?: string) =>
    h.mutate('startGeneration', { agentId, prompt: 'say hi', callback }, 'generation { id }', key)
  expect(await start({ url: 'ftp://x' })).toMatchObject({ issues: [{ path: ['input', 'callback', 'url'] }] })
  expect(await start({ url: receiver.url, secret: 'whsec_short' })).toMatchObject({
    issues: [{ path: ['input', 'callback', 'secret'] }],
  })
  const policy = {
    statement: [
      { effect: 'Allow', action: ['generations:*', 'agents:*'], resource: ['*'] },
      { effect: 'Deny', action: ['webhooks:Callback'], resource: ['*'] },
    ],
  }
  const key = await h.mutate('createApiKey', { name: 'k', policy }, 'secret')
  await expect(start({ url: receiver.url }, key['secret'])).rejects.toThrow(/webhooks:Callback/)
  expect(await count('webhooks')).toBe(0)
})
