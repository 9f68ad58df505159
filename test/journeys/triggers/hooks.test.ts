/** Hooks: a signed message starts one run; what is forged, late, repeated or too large starts none. On both databases. */
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forgetOldStarts, resealTriggers } from '../../../src/domain/triggers/index.ts'
import { databaseKinds } from '../../support/databases.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import type { Harness } from '../../support/harness.ts'

/** The headers of Standard Webhooks, made without our code. */
function signed(secret: string, id: string, body: string, atMs = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000))
  const mac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(
    `${id}.${timestamp}.${body}`,
  )
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,bm90IHRoaXM= v1,${mac.digest('base64')}`,
  }
}

interface Hook {
  id: string
  url: string
  agentId: string
  secret: string
}

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
  })
  afterAll(() => deployment?.close())

  const create = async (input: object = {}, key?: string): Promise<Hook> => {
    const agentId = await deployment.fixtures.agent()
    const given = { agentId, name: 'orders', prompt: 'say order {order.id}', ...input }
    const { secret, trigger } = await h.mutate(
      'createTrigger',
      given,
      'secret trigger { id url agentId kind }',
      key,
    )
    expect(trigger).toMatchObject({ kind: 'HOOK', url: `${h.url}/hooks/${trigger.id}` })
    return { ...trigger, secret }
  }
  const post = async (url: string, body: string, headers: Record<string, string>) => {
    const response = await fetch(url, { method: 'POST', body, headers })
    return {
      status: response.status,
      ...((await response.json()) as { generationId?: string; error?: string }),
    }
  }
  const send = ({ url, secret }: Pick<Hook, 'url' | 'secret'>, body: unknown, id: string = randomUUID()) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return post(url, text, signed(secret, id, text))
  }
  const runsOf = (agentId: string) =>
    deployment.rows(`select id from generations where agent_id = '${agentId}'`)
  const order = { order: { id: 'A-17' } }

  test('a message starts a run with the prompt that the template makes of it', async () => {
    const hook = await create()
    const sent = await send(hook, order)
    expect(sent.status).toBe(202)
    expect(await h.until(sent.generationId!, ['COMPLETED'])).toMatchObject({ output: { text: 'order A-17' } })
    const { data } = await h.gql(
      'query($agentId: ID!) { triggers(agentId: $agentId) { nodes { lastError lastGeneration { id } nextTimes } } }',
      { agentId: hook.agentId },
    )
    expect(data['triggers'].nodes).toEqual([
      { lastError: null, lastGeneration: { id: sent.generationId }, nextTimes: [] },
    ])
  })

  test('an id starts one run, however often and to whichever replica it is sent', async () => {
    const hook = await create()
    const urls = deployment.replicas.map(({ url }) => `${url}/hooks/${hook.id}`)
    const all = await Promise.all(
      [...urls, ...urls, ...urls].map((url) => send({ ...hook, url }, order, 'msg_1')),
    )
    // A later try has another time, and may have another body: the id counts.
    all.push(await send(hook, { order: { id: 'other' } }, 'msg_1'))
    const [run, ...more] = await runsOf(hook.agentId)
    expect(more).toEqual([])
    expect(new Set(all.map(({ status, generationId }) => `${status} ${generationId}`))).toEqual(
      new Set([`202 ${run!['id']}`]),
    )
    await deployment.rows(`update trigger_starts set at = now() - interval '8 days'`)
    await forgetOldStarts(h.app.services.db)
    expect(await deployment.rows('select 1 from trigger_starts')).toEqual([])
  })

  test('nothing tells a forged message from one to a hook that does not exist', async () => {
    const hook = await create()
    const other = await create()
    const body = JSON.stringify(order)
    const schedule = await h.mutate(
      'createTrigger',
      { agentId: hook.agentId, name: 's', prompt: 'p', cron: '0 3 * * *' },
      'trigger { id }',
    )
    const forged = [
      await post(hook.url, body, signed(other.secret, 'm', body)),
      await post(hook.url, `${body} `, signed(hook.secret, 'm', body)),
      await post(hook.url, body, { ...signed(hook.secret, 'm', body), 'webhook-id': 'n' }),
      await post(`${h.url}/hooks/trg_nothing`, body, signed(hook.secret, 'm', body)),
      await post(`${h.url}/hooks/${schedule['trigger'].id}`, body, signed(hook.secret, 'm', body)),
      await post(`${h.url}/hooks/${hook.agentId}`, body, signed(hook.secret, 'm', body)),
    ]
    expect(new Set(forged.map((one) => JSON.stringify(one)))).toHaveLength(1)
    expect(forged[0]).toMatchObject({ status: 404 })
    for (const minutes of [-6, 6])
      expect(
        await post(hook.url, body, signed(hook.secret, 'm', body, Date.now() + minutes * 60_000)),
      ).toMatchObject({
        status: 422,
        error: expect.stringContaining('300 seconds'),
      })
    expect(await post(hook.url, body, {})).toMatchObject({ status: 422 })
    expect((await fetch(hook.url)).status).toBe(405)
    expect(await runsOf(hook.agentId)).toEqual([])
  })

  test('what is too large, no JSON or lacks a value is refused, and the trigger says why', async () => {
    const hook = await create()
    expect(await send(hook, 'x'.repeat(256 * 1024 + 1))).toMatchObject({ status: 413 })
    expect(await send(hook, 'no json')).toMatchObject({ status: 422 })
    expect(await send(hook, '['.repeat(100_000))).toMatchObject({ status: 422 })
    expect(await send(hook, { order: {} })).toMatchObject({
      status: 422,
      error: expect.stringContaining('order.id'),
    })
    const { data } = await h.gql('query($id: ID!) { trigger(id: $id) { lastError } }', { id: hook.id })
    expect(data['trigger'].lastError).toContain('order.id')
    expect(await h.mutate('startTrigger', { triggerId: hook.id }, 'generation { id }')).toMatchObject({
      issues: [{ path: ['input', 'body'] }],
    })
    const made = await h.mutate('startTrigger', { triggerId: hook.id, body: order }, 'generation { id }')
    expect(await runsOf(hook.agentId)).toEqual([{ id: made['generation'].id }])
    expect(await create({ prompt: '{a}'.repeat(51) }).catch((error: Error) => error)).toBeInstanceOf(Error)
  })

  test('while a secret is rotated both count, and a new master key opens both', async () => {
    const hook = await create()
    const { secret } = await h.mutate('rotateTriggerSecret', { triggerId: hook.id }, 'secret')
    expect(await send(hook, order)).toMatchObject({ status: 202 })
    expect(await send({ ...hook, secret }, order)).toMatchObject({ status: 202 })
    const { db, masterKey } = h.app.services
    const next = Buffer.alloc(32, 9)
    expect(await resealTriggers(db, masterKey, next)).toBeGreaterThan(0)
    await resealTriggers(db, next, masterKey)
    await deployment.rows(`update triggers set previous_until = now() where id = '${hook.id}'`)
    expect(await send(hook, order)).toMatchObject({ status: 404 })
    expect(await send({ ...hook, secret }, order)).toMatchObject({ status: 202 })
  })

  test('runs start with the rights of whoever saved it, in its project, at its rate', async () => {
    const { project } = await h.mutate('createProject', { name: 'p' }, 'project { id }')
    const owner = await h.mutate(
      'createApiKey',
      { projectId: project.id, name: 'dev', role: 'DEVELOPER' },
      'apiKey { id } secret',
    )
    const key = owner['secret'] as string
    const { agent } = await h.mutate(
      'createAgent',
      { name: 'a', model: 'builtin/rehearsal' },
      'agent { id }',
      key,
    )
    const hook = await create({ agentId: agent.id }, key)
    expect(await send(hook, order)).toMatchObject({ status: 202 })
    const limit = {
      scope: 'KEY',
      targetId: owner['apiKey'].id,
      perMinute: 1,
      burst: 1,
      projectId: project.id,
    }
    await h.mutate('setRateLimit', limit, 'rateLimit { perMinute }')
    await expect.poll(async () => (await send(hook, order)).status).toBe(429)
    await h.mutate('setRateLimit', { ...limit, perMinute: null }, 'rateLimit { perMinute }')
    const others = await h.mutate('createApiKey', { name: 'x', role: 'ADMIN' }, 'secret')
    for (const [name, input] of [
      ['updateTrigger', { prompt: 'x' }],
      ['deleteTrigger', {}],
      ['rotateTriggerSecret', {}],
      ['startTrigger', {}],
    ] as const)
      expect(
        await h.mutate(name, { triggerId: hook.id, ...input }, '__typename', others['secret']),
      ).toMatchObject({
        code: 'NOT_FOUND',
      })
    await h.mutate('revokeApiKey', { id: owner['apiKey'].id }, 'apiKey { id }')
    expect(await send(hook, order)).toMatchObject({ status: 403, error: expect.stringContaining('revoked') })
    await h.mutate('updateTrigger', { triggerId: hook.id, enabled: false }, 'trigger { id }')
    expect(await send(hook, order)).toMatchObject({ status: 409 })
    await h.mutate('deleteTrigger', { triggerId: hook.id }, 'deletedId')
    expect(await send(hook, order)).toMatchObject({ status: 404 })
  })
})
