/**
 * Clients without an idempotency key send a request again whose response they lost: @ai-sdk/openai has none, OpenAI's own
 * clients send none by themselves. An equal request joins the run of the first one, so that nobody is asked twice.
 */
import { createOpenAI } from '@ai-sdk/openai'
import { sql } from 'drizzle-orm'
import { generateText, streamText } from 'ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../../src/config.ts'
import { query } from '../../../../src/store/db/database.ts'
import { databaseKinds, postgresDatabase } from '../../../support/databases.ts'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { watchPlaces } from '../../../support/held-places.ts'
import { openClient } from '../../../support/openai-clients.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let h: Harness
  let other: Harness
  let fixtures: Fixtures
  let caller: string
  let callerId: string
  let drop: () => Promise<void>

  beforeAll(async () => {
    const postgres = kind === 'PostgreSQL' ? await postgresDatabase() : null
    const config = { databaseUrl: postgres?.url ?? null }
    drop = async () => postgres?.drop()
    h = await openHarness(config)
    // The embedded database has one process: there, both requests reach it.
    other = postgres ? await openHarness(config) : h
    fixtures = await makeFixtures(h)
    await fixtures.agent({ name: 'plain' })
    await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
    ;({ secret: caller, id: callerId } = await newKey('caller'))
  })
  afterAll(async () => {
    await fixtures?.close()
    if (other !== h) await other?.stop()
    await h?.stop()
    await drop?.()
  })

  /** A key that is not asked at the gate: its responses wait until somebody else has decided. */
  const newKey = async (name: string): Promise<{ secret: string; id: string }> => {
    const input = { name, role: 'DEVELOPER', votes: false }
    const { apiKey, secret } = await h.mutate('createApiKey', input, 'apiKey { id } secret')
    return { secret, id: apiKey.id }
  }
  const modelOf = (agent: string, more: { apiKey?: string; fetch?: typeof fetch; headers?: {} } = {}) =>
    createOpenAI({ apiKey: caller, baseURL: `${h.url}/v1`, ...more }).responses(agent)

  let count = 0
  /** A prompt that no other test has used, which calls the gated tool. */
  const fresh = () => `call act {"word": "${kind} ${++count}"}\nthen\nsay ok`
  const acted = (prompt: string) => {
    const word = /"word": "([^"]*)"/.exec(prompt)![1]
    return fixtures.upstream.seen.filter(({ body }) => body.includes(`"${word}"`)).length
  }
  interface Question {
    id: string
    status: string
    generationId: string
  }
  const questions = async (prompt: string, status?: string): Promise<Question[]> => {
    const list = 'query { approvals(first: 100) { nodes { id status arguments generation { id } } } }'
    const found = (await h.gql(list)).data['approvals'].nodes as any[]
    return found
      .filter((one) => prompt.includes(`"word": "${one.arguments.word}"`))
      .filter((one) => !status || one.status === status)
      .map((one) => ({ id: one.id, status: one.status, generationId: one.generation.id }))
  }
  const asked = async (prompt: string, n = 1) => {
    await expect.poll(async () => (await questions(prompt, 'PENDING')).length).toBe(n)
    return questions(prompt, 'PENDING')
  }
  const approve = async (prompt: string) => {
    for (const { id } of await questions(prompt, 'PENDING'))
      await h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, '__typename')
  }
  const windowOver = (id: string) =>
    query(h.app.services.db, sql`update awaited_requests set expires_at = now() where generation_id = ${id}`)

  /** The first connection is broken as soon as the question is asked, before anything was read. */
  function breaking(prompt: string): { fetch: typeof fetch; tries: () => number } {
    let tries = 0
    return {
      tries: () => tries,
      async fetch(input, init) {
        if (++tries > 1) return fetch(input, init)
        const connection = new AbortController()
        const lost = fetch(input, { ...init, signal: connection.signal }).catch(() => {})
        await asked(prompt)
        connection.abort()
        await lost
        throw new TypeError('fetch failed', { cause: new Error('other side closed') })
      },
    }
  }

  test.each(['generateText', 'streamText'])(
    '%s of the AI SDK tries again after a broken connection: one run, one question, one execution',
    async (how) => {
      const prompt = fresh()
      const broken = breaking(prompt)
      const request = { model: modelOf('gated', { fetch: broken.fetch }), prompt }
      const text = (async () => {
        const made = how === 'streamText' ? streamText(request) : await generateText(request)
        return made.text
      })()
      await expect.poll(() => broken.tries()).toBe(2)
      await approve(prompt)
      expect(await text).toBe('ok')
      expect(await questions(prompt)).toMatchObject([{ status: 'APPROVED' }])
      expect(acted(prompt)).toBe(1)
    },
  )

  test('the official client tries again by itself, and the person decides between the tries', async () => {
    const input = fresh()
    const broken = breaking(input)
    const twice: typeof fetch = async (...request) => {
      if (broken.tries() === 1) {
        const [{ generationId }] = (await questions(input)) as [Question]
        await approve(input)
        await h.until(generationId, ['COMPLETED'])
      }
      return broken.fetch(...request)
    }
    const client = await openClient(6, h.url, caller, { fetch: twice, maxRetries: 2 })
    const made = await client.responses.create({ model: 'gated', input })
    expect(made.output_text).toBe('ok')
    expect(broken.tries()).toBe(2)
    expect(await questions(input)).toHaveLength(1)
    expect(acted(input)).toBe(1)
  })

  test('equal requests at once, at two replicas, streamed and whole: one run, and each gets its answer', async () => {
    const input = fresh()
    const clients = await Promise.all([h, other].map(({ url }) => openClient(6, url, caller)))
    const places = watchPlaces([h, other], callerId)
    const whole = [0, 1, 2, 3].map((i) => clients[i % 2]!.responses.create({ model: 'gated', input }))
    const streamed = [0, 1, 2, 3].map((i) =>
      clients[i % 2]!.responses.stream({ model: 'gated', input }).finalResponse(),
    )
    // What came after the end of the run would be a run of its own.
    await places.until(8)
    places.stop()
    await asked(input)
    await approve(input)
    const made = await Promise.all([...whole, ...streamed])
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    expect(made.map((one) => one.output_text)).toEqual(made.map(() => 'ok'))
    expect(await questions(input)).toHaveLength(1)
    expect(acted(input)).toBe(1)
  })

  test('another key, another input or instruction, and the header are runs of their own', async () => {
    const input = fresh()
    const base = { model: 'gated', input, background: true }
    const client = await openClient(6, h.url, caller)
    const stranger = await openClient(6, h.url, (await newKey('stranger')).secret)
    const first = await client.responses.create(base)
    const ids = [
      first.id,
      (await stranger.responses.create(base)).id,
      (await client.responses.create({ ...base, instructions: 'Be brief.' })).id,
      (await client.responses.create({ ...base, user: 'ann' })).id,
      (await client.responses.create(base, { headers: { 'Gatehouse-Join': 'off' } })).id,
    ]
    expect(new Set(ids).size).toBe(ids.length)
    await asked(input, ids.length)
    const odd = client.responses.create(base, { headers: { 'Gatehouse-Join': 'maybe' } })
    await expect(odd).rejects.toMatchObject({ status: 400, param: 'Gatehouse-Join' })
  })

  test('after its answer was read, the same request is a new run', async () => {
    const input = 'call act {"word": "again"}\nthen\nsay ok'
    const client = await openClient(6, h.url, caller)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) {
      ids.push((await client.responses.create({ model: 'plain', input })).id)
      ids.push((await client.responses.stream({ model: 'plain', input }).finalResponse()).id)
    }
    expect(new Set(ids).size).toBe(6)
    expect(acted(input)).toBe(6)
  })

  test('an answer that somebody else has read is still owed to its caller', async () => {
    const input = fresh()
    const client = await openClient(6, h.url, caller)
    const connection = new AbortController()
    const { signal } = connection
    const lost = client.responses.create({ model: 'gated', input }, { signal }).catch(() => null)
    const [{ generationId }] = (await asked(input)) as [Question]
    connection.abort()
    await lost
    await approve(input)
    await h.until(generationId, ['COMPLETED'])
    const id = `resp_${generationId.slice('gen_'.length)}_0`
    await (await openClient(6, h.url, adminKey)).responses.retrieve(id)
    expect((await client.responses.create({ model: 'gated', input, background: true })).id).toBe(id)
    expect(await questions(input)).toHaveLength(1)
  })

  test('a response in the background is joined while its run goes on, and not after its end', async () => {
    const input = fresh()
    const client = await openClient(6, h.url, caller)
    const base = { model: 'gated', input, background: true }
    const first = await client.responses.create(base)
    const [{ generationId }] = (await asked(input)) as [Question]
    expect((await client.responses.create(base)).id).toBe(first.id)
    await approve(input)
    await h.until(generationId, ['COMPLETED'])
    expect((await client.responses.create(base)).id).not.toBe(first.id)
  })

  test('a request after the window is a new run, also while the first one waits', async () => {
    const input = fresh()
    const client = await openClient(6, h.url, caller)
    const base = { model: 'gated', input, background: true }
    const first = await client.responses.create(base)
    const [{ generationId }] = (await asked(input)) as [Question]
    await windowOver(generationId)
    const second = await client.responses.create(base)
    expect(second.id).not.toBe(first.id)
    expect((await client.responses.create(base)).id).toBe(second.id)
  })

  test('a run that is being cancelled is not joined', async () => {
    const input = fresh()
    const client = await openClient(6, h.url, caller)
    const base = { model: 'gated', input, background: true }
    const first = await client.responses.create(base)
    await asked(input)
    await client.responses.cancel(first.id)
    expect((await client.responses.create(base)).id).not.toBe(first.id)
  })

  test('a question that its caller has read is shown again while it is open, and not after the run', async () => {
    const input = fresh()
    const client = await openClient(6, h.url, adminKey)
    const first = await client.responses.create({ model: 'gated', input })
    const question = first.output.find((item) => item.type === 'mcp_approval_request')!
    expect(question).toBeDefined()
    const again = await client.responses.stream({ model: 'gated', input }).finalResponse()
    expect(again).toMatchObject({ id: first.id, output: first.output })
    expect(await questions(input)).toHaveLength(1)
    const verdict = {
      type: 'mcp_approval_response' as const,
      approval_request_id: question.id,
      approve: true,
    }
    await client.responses.create({ model: 'gated', previous_response_id: first.id, input: [verdict] })
    const next = await client.responses.create({ model: 'gated', input })
    expect(next.id).not.toBe(first.id)
    expect(acted(input)).toBe(1)
  })

  test('a call that its client has read is not shared: programs read a forced call and send no output', async () => {
    const parameters = objectSchema({ room: { type: 'string' } }, ['room'])
    const locate = { type: 'function' as const, name: 'locate', parameters, strict: false }
    const client = await openClient(6, h.url, caller)
    const base = { model: 'plain', input: 'call locate {"room": "a"}\nthen\nsay found', tools: [locate] }
    const made = [await client.responses.create(base), await client.responses.create(base)]
    expect(new Set(made.map(({ id }) => id)).size).toBe(2)
  })

  test('over REST a run that is sent again joins the first one until it has ended', async () => {
    const content = fresh()
    const agents = (await h.gql('query { agents(first: 50) { nodes { id name } } }')).data['agents'].nodes
    const { id: agent } = agents.find(({ name }: { name: string }) => name === 'gated')
    const messages = [{ role: 'user', content }]
    const body = JSON.stringify({ messages })
    const send = async (more: RequestInit = {}, headers = {}): Promise<Record<string, any>> => {
      const sent = { authorization: `Bearer ${caller}`, 'content-type': 'application/json' }
      const init = { method: 'POST', body, headers: { ...sent, ...headers }, ...more }
      return (await fetch(`${h.url}/api/v1/agents/${agent}/generate`, init)).json() as Promise<
        Record<string, any>
      >
    }
    const connection = new AbortController()
    const lost = send({ signal: connection.signal }).catch(() => null)
    const [{ generationId }] = (await asked(content)) as [Question]
    connection.abort()
    await lost
    const places = watchPlaces([h], callerId)
    const second = send()
    await places.until(1)
    places.stop()
    expect((await send({}, { prefer: 'wait=0' }))['id']).toBe(generationId)
    await approve(content)
    expect((await second)['id']).toBe(generationId)
    await h.until(generationId, ['COMPLETED'])
    expect(await questions(content)).toHaveLength(1)
    expect(acted(content)).toBe(1)
    expect((await send({}, { prefer: 'wait=0' }))['id']).not.toBe(generationId)
  })

  test('the next turn of a conversation joins too', async () => {
    const client = await openClient(6, h.url, caller)
    const before = await client.responses.create({ model: 'gated', input: 'say hello' })
    const base = { model: 'gated', input: fresh(), previous_response_id: before.id, background: true }
    const first = await client.responses.create(base)
    await asked(base.input)
    const joined = client.responses.stream({ ...base, background: false })
    await joined.emitted('response.created')
    await approve(base.input)
    const second = await joined.finalResponse()
    expect([first.id, second.output_text]).toEqual([second.id, 'ok'])
  })
})

test('the window is a setting, and 0 switches it off', async () => {
  expect(loadConfig({}).joinWindowMs).toBe(30 * 60_000)
  const h = await openHarness({ joinWindowMs: loadConfig({ GATEHOUSE_JOIN_WINDOW_MS: '0' }).joinWindowMs })
  const fixtures = await makeFixtures(h)
  try {
    await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
    const client = await openClient(6, h.url, adminKey)
    const base = { model: 'gated', input: 'call act {"word": "a"}', background: true }
    const made = [await client.responses.create(base), await client.responses.create(base)]
    expect(new Set(made.map(({ id }) => id)).size).toBe(2)
  } finally {
    await fixtures.close()
    await h.stop()
  }
})
