/** Requests of the client: typed errors, and repeats of exactly what is safe to repeat. */
import { parse } from 'graphql'
import { expect, test } from 'vitest'
import {
  ConflictError,
  createClient,
  ForbiddenError,
  LimitedError,
  NotFoundError,
  UnauthenticatedError,
  UnreachableError,
  ValidationError,
  type Approval,
} from '../../client/index.ts'
import { objectSchema } from '../support/fixtures.ts'
import { adminKey } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { openShop } from '../support/web-fixtures.ts'
import { clientOf } from './clients.ts'
import { forFile } from '../support/for-file.ts'

const shop = await forFile(openShop())

/** A fetch that really sends, and loses the first answers to requests with this text. */
function losing(text: string, times: number) {
  const sent: string[] = []
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!String(init?.body).includes(text)) return response
    sent.push(String(init?.body))
    if (sent.length > times) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed')
  }
  return { sent, fetch: send }
}

const createTool = `mutation($input: CreateToolInput!) { createTool(input: $input) {
  ... on ToolPayload { tool { id } } ... on Error { __typename code message }
  ... on ValidationError { issues { path message } } } }`
const clientTool = (name: string) => ({
  input: { name, config: { client: { inputSchema: { type: 'object' } } } },
})

test('errors have a class and a code, and say what the server said', async () => {
  const client = clientOf(shop.h)
  await client.mutate(createTool, clientTool('twice'))
  const taken = await client.mutate(createTool, clientTool('twice')).catch((error: unknown) => error)
  expect(taken).toBeInstanceOf(ConflictError)
  expect(taken).toMatchObject({ code: 'NAME_TAKEN', name: 'ConflictError' })
  const invalid = await client.mutate(createTool, clientTool('not a name')).catch((error: unknown) => error)
  expect(invalid).toBeInstanceOf(ValidationError)
  expect((invalid as ValidationError).issues[0]?.path).toEqual(['input', 'name'])
  await expect(client.query('{ nothing }')).rejects.toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' })
  await expect(client.query('{ viewer')).rejects.toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' })
  await expect(client.cancelGeneration('gen_01234567890123456789012345')).rejects.toBeInstanceOf(
    NotFoundError,
  )
  expect(await client.generation('gen_01234567890123456789012345')).toBeNull()
  const viewer = await shop.person('viewer', 'VIEWER')
  const refused = await clientOf(shop.h, null, { key: viewer.secret })
    .startGeneration({ agentId: shop.agentId, prompt: 'say hello' })
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ForbiddenError)
  expect((refused as ForbiddenError).action).toBe('generations:Start')
  const unknown = clientOf(shop.h, null, { key: `gh_${'x'.repeat(43)}` })
  await expect(unknown.query('{ viewer { id } }')).rejects.toBeInstanceOf(UnauthenticatedError)
})

test('options that cannot work are refused at once, and a key never is in a message', () => {
  expect(() => createClient({ url: 'ftp://127.0.0.1', key: adminKey })).toThrow(TypeError)
  expect(() => createClient({ url: 'nonsense', key: adminKey })).toThrow(TypeError)
  expect(() => createClient({ url: shop.h.url })).toThrow('needs a key')
  expect(() => createClient({ url: shop.h.url, key: ' ' })).toThrow('empty')
})

test('documents may be texts, strings as objects, and syntax trees that kept their source', async () => {
  const client = clientOf(shop.h)
  const text = '{ viewer { name } }'
  // oxlint-disable-next-line no-new-wrappers, unicorn/new-for-builtins -- what GraphQL Code Generator makes
  for (const document of [text, new String(text), parse(text)])
    expect(await client.query(document as string)).toHaveProperty('viewer.name')
  await expect(client.query(parse(text, { noLocation: true }) as never)).rejects.toThrow('print(document)')
})

test('a query is repeated when its answer is lost', async () => {
  const { sent, fetch: send } = losing('viewer', 2)
  expect(await clientOf(shop.h, null, { fetch: send }).query('{ viewer { name } }')).toHaveProperty('viewer')
  expect(sent.length).toBe(3)
})

test('a mutation without an idempotency key is sent once, and the caller learns that it may have happened', async () => {
  const { sent, fetch: send } = losing('createTool', 1)
  const client = clientOf(shop.h, null, { fetch: send })
  await expect(client.mutate(createTool, clientTool('once'))).rejects.toBeInstanceOf(UnreachableError)
  expect(sent.length).toBe(1)
  await expect(client.mutate(createTool, clientTool('once'))).rejects.toMatchObject({ code: 'NAME_TAKEN' })
})

test('startGeneration and callTool are repeated with one key, and happen once', async () => {
  const starts = losing('startGeneration', 2)
  const client = clientOf(shop.h, null, { fetch: starts.fetch })
  const count = async () => {
    const { data } = await shop.h.gql('{ generations(first: 100) { nodes { id } } }')
    return data['generations'].nodes.length as number
  }
  const before = await count()
  await client.startGeneration({ agentId: shop.agentId, prompt: 'say hello' })
  expect(starts.sent.length).toBe(3)
  expect(new Set(starts.sent).size).toBe(1)
  expect(await count()).toBe(before + 1)
  const calls = losing('callTool', 1)
  const waiting: string[] = []
  const call = await clientOf(shop.h, null, { fetch: calls.fetch }).callTool(
    { toolId: shop.refundId, arguments: { order_id: 'twice?', amount: 1 } },
    { wait: false, onWaiting: ({ id }) => waiting.push(id) },
  )
  expect(calls.sent.length).toBe(2)
  expect(call.status).toBe('AWAITING_APPROVAL')
  const { data } = await shop.h.gql(
    '{ approvals(filter: { statuses: [PENDING] }, first: 100) { nodes { id digest arguments } } }',
  )
  const asked = data['approvals'].nodes.filter(
    ({ arguments: args }: Record<string, any>) => args.order_id === 'twice?',
  )
  expect(asked.length).toBe(1)
  await client.approvals.decide(asked[0], { verdict: 'REJECT' })
})

test('a limit that says when is waited for, also before a mutation', async () => {
  const told: unknown[] = []
  const made = await shop.h.mutate('createApiKey', { name: 'slow', role: 'ADMIN' }, 'secret apiKey { id }')
  await shop.h.mutate(
    'setRateLimit',
    { scope: 'KEY', targetId: made['apiKey'].id, perMinute: 120, burst: 1 },
    'rateLimit { perMinute }',
  )
  const client = clientOf(shop.h, null, { key: made['secret'], onRetry: (error) => told.push(error) })
  for (const name of ['one', 'two', 'three']) await client.mutate(createTool, clientTool(`limited_${name}`))
  expect(told.length).toBeGreaterThan(0)
  expect(told[0]).toBeInstanceOf(LimitedError)
})

test('a signal ends the waiting', async () => {
  const stop = new AbortController()
  const client = clientOf({ url: 'http://127.0.0.1:9' }, null, {
    onRetry: () => stop.abort(new Error('enough')),
  })
  await expect(client.query('{ viewer { id } }', {}, { signal: stop.signal })).rejects.toThrow('enough')
})

test('a gated direct call comes back with its outcome after the verdict, or after the rejection', async () => {
  const client = clientOf(shop.h)
  const outcomes: string[] = []
  for (const verdict of ['APPROVE', 'REJECT'] as const) {
    const call = await client.callTool(
      { toolId: shop.refundId, arguments: { order_id: `call ${verdict}`, amount: 250 } },
      {
        onWaiting: async ({ approval }) => {
          const read = await client.approvals.get(approval!.id)
          await client.approvals.decide(read!, { verdict })
        },
      },
    )
    outcomes.push(call.status)
  }
  expect(outcomes).toEqual(['SUCCEEDED', 'REJECTED'])
  client.close()
})

test('a tool that takes longer than a request may is waited for, and called once', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const service = await startLoopback(async (_request, response) => {
    await released
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}')
  })
  try {
    const { tool } = await shop.h.mutate(
      'createTool',
      {
        name: 'slow_work',
        config: { http: { url: service.url, method: 'POST', inputSchema: objectSchema({}) } },
      },
      'tool { id }',
    )
    let late = 0
    const client = clientOf(shop.h, null, {
      timeoutMs: 200,
      retryForMs: 200,
      onRetry: () => {
        if (++late === 3) release()
      },
    })
    const call = await client.callTool({ toolId: tool.id, arguments: {} })
    expect(call).toMatchObject({ status: 'SUCCEEDED', isError: false })
    expect(service.seen).toHaveLength(1)
  } finally {
    release()
    await service.close()
  }
})

test('what fails while a call waits at the gate is told to who called', async () => {
  const client = clientOf(shop.h)
  const asked = client.callTool(
    { toolId: shop.refundId, arguments: { order_id: 'told', amount: 250 } },
    {
      onWaiting: async ({ approval }) => {
        const read = await client.approvals.get(approval!.id)
        await client.approvals.decide({ ...read!, digest: 'another' }, { verdict: 'APPROVE' })
      },
    },
  )
  await expect(asked).rejects.toBeInstanceOf(ConflictError)
  await shop.settle()
  client.close()
})

test('a key that may not follow events gets the outcome as well', async () => {
  const statement = [
    {
      effect: 'Allow',
      action: ['tools:Call', 'tools:Get', 'toolCalls:Get', 'toolCalls:*', 'approvals:Get'],
      resource: ['*'],
    },
  ]
  const made = await shop.h.mutate('createApiKey', { name: 'caller', policy: { statement } }, 'secret')
  if (!made['secret']) throw new Error(JSON.stringify(made))
  const [caller, client] = [clientOf(shop.h, undefined, { key: made['secret'] }), clientOf(shop.h)]
  const call = await caller.callTool(
    { toolId: shop.refundId, arguments: { order_id: 'polled', amount: 250 } },
    {
      onWaiting: async ({ approval }) => {
        const read = await client.approvals.get(approval!.id)
        await client.approvals.decide(read!, { verdict: 'APPROVE' })
      },
    },
  )
  expect(call.status).toBe('SUCCEEDED')
  client.close()
  caller.close()
})

test('approvals are watched: what waits, what comes, and how it ends', async () => {
  await shop.settle()
  const early = await shop.ask('early')
  const client = clientOf(shop.h)
  const watch = client.approvals.watch()
  const next = async () => (await watch.next()).value as Approval
  expect(await next()).toMatchObject({ id: early.approvalId, status: 'PENDING', toolName: 'send_refund' })
  const coming = next()
  const late = await shop.ask('late')
  const asked = await coming
  expect(asked).toMatchObject({ id: late.approvalId, status: 'PENDING', arguments: { order_id: 'late' } })
  expect(asked.viewerCanDecide.may).toBe(true)
  const decided = await client.approvals.decide(asked, { verdict: 'REJECT', reason: 'no' })
  expect(decided.status).toBe('REJECTED')
  expect(await next()).toMatchObject({ id: late.approvalId, status: 'REJECTED' })
  await watch.return?.()
  await shop.settle()
  client.close()
})

test('a verdict whose answer was lost is given once and holds; another digest and another verdict do not', async () => {
  const { approvalId } = await shop.ask('verdict')
  const { sent, fetch: send } = losing('decideApproval', 1)
  const client = clientOf(shop.h, null, { fetch: send })
  const approval = (await client.approvals.get(approvalId))!
  const stale = {
    id: approvalId,
    digest: approval.digest.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
  }
  await expect(clientOf(shop.h).approvals.decide(stale, { verdict: 'APPROVE' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  const decided = await client.approvals.decide(approval, { verdict: 'APPROVE', reason: 'checked' })
  expect(sent.length).toBe(2)
  expect(decided.status).toBe('APPROVED')
  expect((await shop.approval(approvalId))['votes'].length).toBe(1)
  const other = await client.approvals
    .decide(approval, { verdict: 'REJECT' })
    .catch((error: unknown) => error)
  expect(other).toBeInstanceOf(ConflictError)
  expect(other).toMatchObject({
    code: 'APPROVAL_ALREADY_DECIDED',
    approval: { id: approvalId, status: 'APPROVED' },
  })
  const somebody = await shop.person('somebody')
  const late = clientOf(shop.h, null, { key: somebody.secret }).approvals.decide(approval, {
    verdict: 'APPROVE',
  })
  await expect(late).rejects.toMatchObject({ code: 'APPROVAL_ALREADY_DECIDED' })
})
