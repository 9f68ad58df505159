/**
 * Clients of chat completions send all messages each time and no id. The next turn goes on in the same thread, an edit forks, and
 * whatever request is sent again, by the client itself or by a person, nothing runs twice.
 */
import { sql } from 'drizzle-orm'
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generationResumed, insertGenerationEvents } from '../../../../src/domain/events/index.ts'
import { query } from '../../../../src/store/db/database.ts'
import { aroundStatements } from '../../../support/around-statements.ts'
import { databaseKinds, postgresDatabase } from '../../../support/databases.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { openHarness, type Harness } from '../../../support/harness.ts'
import { watchPlaces } from '../../../support/held-places.ts'
import { openClient } from '../../../support/openai-clients.ts'

type Message = OpenAI.Chat.ChatCompletionMessageParam
interface Made {
  id: string
  text: string
  message: Message
}

const user = (content: string) => ({ role: 'user' as const, content })
const atOnce = { prefer: 'wait=0' }
const soon = { prefer: 'wait=60' }

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
    const http = {
      url: `${fixtures.upstream.url}/pay`,
      method: 'POST',
      inputSchema: objectSchema({ word: { type: 'string' } }),
    }
    const pay = { name: 'pay', gate: { autoApprove: false }, config: { http } }
    const { tool } = await h.mutate('createTool', pay, 'tool { id }')
    await fixtures.agent({ name: 'payer', toolIds: [fixtures.tools.ask, tool.id] })
    ;({ secret: caller, id: callerId } = await newKey('caller'))
  })
  afterAll(async () => {
    await fixtures?.close()
    if (other !== h) await other?.stop()
    await h?.stop()
    await drop?.()
  })

  /** A key that is not asked at the gate. */
  const newKey = async (name: string): Promise<{ secret: string; id: string }> => {
    const input = { name, role: 'DEVELOPER', votes: false }
    const { apiKey, secret } = await h.mutate('createApiKey', input, 'apiKey { id } secret')
    return { secret, id: apiKey.id }
  }

  interface RequestOptions {
    url?: string
    key?: string
    headers?: Record<string, string>
    body?: object
    fetch?: typeof fetch
    maxRetries?: number
  }
  const ask = async (model: string, messages: Message[], asked: RequestOptions = {}): Promise<Made> => {
    const { url = h.url, key = caller, headers = {}, body = {}, ...client } = asked
    const openai = await openClient(6, url, key, client)
    const made = await openai.chat.completions.create(
      { model, messages, ...body, stream: false },
      { headers },
    )
    const { message } = made.choices[0]!
    return { id: made.id, text: message.content ?? '', message }
  }

  /** Makes requests, and resolves when so many are held: what comes after the end of their run is a run of its own. */
  const allHeld = async <T>(n: number, make: () => T): Promise<T> => {
    const places = watchPlaces([h, other], callerId)
    const made = make()
    await places.until(n)
    places.stop()
    return made
  }

  let count = 0
  const word = () => `${kind} ${++count}`
  /** A prompt that calls the gated tool. */
  const acting = (of: string) => user(`call act {"word": "${of}"}\nthen\nsay ok`)
  const acted = (of: string) => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${of}"`)).length
  const runIdOf = ({ id }: Made) => `gen_${id.split('_')[1]}`
  const runOf = async (made: Made) => {
    const text = `query($id: ID!) { generation(id: $id) { id status thread { id } retryOf { id } retryStep
      input { messages { role content } } } }`
    const { input, ...run } = (await h.gql(text, { id: runIdOf(made) })).data['generation']
    return { ...run, input: input.messages }
  }
  interface Question {
    id: string
    status: string
    generation: { id: string }
  }
  const questions = async (of: string, status?: string): Promise<Question[]> => {
    const list = 'query { approvals(first: 100) { nodes { id status arguments generation { id } } } }'
    const found = (await h.gql(list)).data['approvals'].nodes as any[]
    return found.filter((one) => one.arguments.word === of && (!status || one.status === status))
  }
  const asked = async (of: string, n = 1) => {
    await expect.poll(async () => (await questions(of, 'PENDING')).length).toBe(n)
  }
  const decide = async (of: string, verdict = 'APPROVE') => {
    for (const { id } of await questions(of, 'PENDING'))
      await h.mutate('decideApproval', { approvalId: id, verdict }, '__typename')
  }

  describe('a conversation', () => {
    test('is known in every form in which clients send an answer back', async () => {
      const first = user(`say  hello ${word()} `)
      const made = await ask('plain', [first])
      const { thread } = await runOf(made)
      const parts = [{ type: 'text' as const, text: made.text }]
      const forms: Message[] = [
        { role: 'assistant', content: made.text },
        { role: 'assistant', content: `${made.text}\n`, tool_calls: [] as never },
        { role: 'assistant', content: parts, refusal: null },
        { content: made.text, annotations: [], audio: null, role: 'assistant', name: 'bot' } as never,
      ]
      let turns: Message[] = []
      for (const [i, form] of forms.entries()) {
        const next = await ask('plain', [user(`\r\n${first.content}`), form, user(`say again ${i}`)])
        const run = await runOf(next)
        // The first of these turns is the next one of the thread, and each of the others another one from there.
        if (i === 0) expect(run).toMatchObject({ thread, retryOf: null })
        else expect(run).toMatchObject({ retryOf: { id: runIdOf(made) }, retryStep: 1 })
        expect(run.input).toEqual([{ role: 'USER', content: `say again ${i}` }])
        turns = [first, form, user(`say again ${i}`), next.message]
      }
      const last = await runOf(await ask('plain', [...turns, user('say last')]))
      expect(last.input).toEqual([{ role: 'USER', content: 'say last' }])
    })

    test('that is edited forks from the last answer before the edit', async () => {
      const messages: Message[] = [user(`say one ${word()}`)]
      const one = await ask('plain', messages)
      messages.push(one.message, user('say two'))
      const two = await ask('plain', messages)
      const edits: [Message[], string][] = [
        [[...messages.slice(0, 2), user('say zwei')], 'say zwei'],
        [
          [
            ...messages.slice(0, 2),
            user('say two'),
            { role: 'assistant', content: 'three' },
            user('say four'),
          ],
          'say four',
        ],
      ]
      for (const [edited, last] of edits) {
        const run = await runOf(await ask('plain', edited))
        expect(run).toMatchObject({ retryOf: { id: runIdOf(one) }, retryStep: 1 })
        expect(run.thread.id).not.toBe((await runOf(two)).thread.id)
        expect(run.input.at(-1)).toEqual({ role: 'USER', content: last })
        expect(run.input).toHaveLength(edited.length - 2)
      }
      const unknown = await runOf(
        await ask('plain', [user(`say other ${word()}`), ...messages.slice(1), two.message, user('say on')]),
      )
      expect(unknown.retryOf).toBeNull()
      expect(unknown.input).toHaveLength(5)
      const instructed = await runOf(
        await ask('plain', [{ role: 'system', content: 'Be brief.' }, ...messages]),
      )
      expect(instructed.input).toHaveLength(3)
    })

    test('of another key, or of another user of the same key, is not known', async () => {
      const messages: Message[] = [user(`say secret ${word()}`)]
      const made = await ask('plain', messages, { body: { user: 'ann' } })
      messages.push(made.message, user('say on'))
      const { thread } = await runOf(made)
      for (const asking of [
        { key: (await newKey('stranger')).secret, body: { user: 'ann' } },
        { body: { user: 'bob' } },
      ]) {
        const run = await runOf(await ask('plain', messages, asking))
        expect(run).toMatchObject({ retryOf: null, input: { length: 3 } })
        expect(run.thread.id).not.toBe(thread.id)
      }
      expect(await runOf(await ask('plain', messages, { body: { user: 'ann' } }))).toMatchObject({ thread })
    })

    test('with two next turns at once: one goes on, and the other forks', async () => {
      const messages: Message[] = [user(`say start ${word()}`)]
      const made = await ask('plain', messages)
      messages.push(made.message)
      const turns = ['left', 'right'].map((side, i) =>
        ask('plain', [...messages, user(`slow 5ms\nsay ${side}`)], { url: [h, other][i]!.url }),
      )
      const runs = await Promise.all((await Promise.all(turns)).map(runOf))
      expect(runs.filter(({ retryOf }) => retryOf === null)).toHaveLength(1)
      expect(new Set(runs.map(({ thread }) => thread.id)).size).toBe(2)
    })

    test('goes away with its runs, and is then the history of a new one', async () => {
      const messages: Message[] = [user(`say gone ${word()}`)]
      const made = await ask('plain', messages)
      await query(h.app.services.db, sql`delete from generations where id = ${runIdOf(made)}`)
      const next = await ask('plain', [...messages, made.message, user('say on')])
      expect((await runOf(next)).input).toHaveLength(3)
    })
  })

  describe('a request that is sent again', () => {
    test('at once, at two replicas: one run, one question, one execution', async () => {
      const of = word()
      const made = await allHeld(4, () =>
        [0, 1, 2, 3].map((i) => ask('gated', [acting(of)], { url: [h, other][i % 2]!.url, headers: soon })),
      )
      await asked(of)
      await decide(of)
      const answers = await Promise.all(made)
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
      expect(answers.map(({ text }) => text)).toEqual(answers.map(() => 'ok'))
      expect([await questions(of), acted(of)]).toMatchObject([{ length: 1 }, 1])
    })

    test('as the next turn, at once, at two replicas: one run', async () => {
      const of = word()
      const first = user(`say before ${of}`)
      const { message } = await ask('gated', [first])
      const made = await allHeld(2, () =>
        [h, other].map(({ url }) => ask('gated', [first, message, acting(of)], { url, headers: soon })),
      )
      await asked(of)
      await decide(of)
      const [one, two] = await Promise.all(made)
      expect(one!.id).toBe(two!.id)
      expect(acted(of)).toBe(1)
    })

    test('by the official client whose connection broke while a person was asked', async () => {
      const of = word()
      let tries = 0
      const breaking: typeof fetch = async (input, init) => {
        if (++tries > 1) return fetch(input, init)
        const connection = new AbortController()
        const lost = fetch(input, { ...init, signal: connection.signal }).catch(() => {})
        await asked(of)
        connection.abort()
        await lost
        await decide(of)
        throw new TypeError('fetch failed')
      }
      const made = await ask('gated', [acting(of)], { fetch: breaking, maxRetries: 2, headers: soon })
      expect([made.text, tries, acted(of), await questions(of)]).toMatchObject(['ok', 2, 1, { length: 1 }])
    })

    test('by the official client whose answer was lost on its way', async () => {
      const of = word()
      let tries = 0
      const losing: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        if (++tries > 1) return response
        await response.text()
        throw new TypeError('fetch failed')
      }
      const made = await ask('plain', [acting(of)], { fetch: losing, maxRetries: 2 })
      expect([made.text, tries, acted(of)]).toEqual(['ok', 2, 1])
      const asking = ask('plain', [acting(of), made.message], { headers: { 'x-stainless-retry-count': '1' } })
      await expect(asking).rejects.toMatchObject({ status: 400, param: 'messages' })
      // A person who wants another answer sends the same, and is no client that repeats.
      expect((await ask('plain', [acting(of)])).id).not.toBe(made.id)
      expect(acted(of)).toBe(2)
    })

    test('with an idempotency key finds its answer, also after it was read', async () => {
      const of = word()
      const headers = { 'idempotency-key': `key ${of}` }
      const made = await ask('plain', [acting(of)], { headers })
      expect((await ask('plain', [acting(of)], { headers })).id).toBe(made.id)
      expect(acted(of)).toBe(1)
      const another = ask('plain', [user('say else')], { headers })
      await expect(another).rejects.toMatchObject({ status: 409 })
    })

    test('with Gatehouse-Join: off is a run of its own', async () => {
      const of = word()
      const held = await ask('gated', [acting(of)], { headers: atOnce })
      const next = await ask('gated', [acting(of)], { headers: { ...atOnce, 'gatehouse-join': 'off' } })
      expect(next.id).not.toBe(held.id)
      await asked(of, 2)
      await decide(of, 'REJECT')
    })

    test('after its run failed goes on after the calls that it made, also when the client repeats by itself', async () => {
      const of = word()
      const prompt = user(`call act {"word": "${of}"}\nthen\nfail 401\nsay never`)
      let tries = 0
      const counting: typeof fetch = (input, init) => (tries++, fetch(input, init))
      const failing = ask('plain', [prompt], { fetch: counting, maxRetries: 2 })
      await expect(failing).rejects.toMatchObject({ status: 500, code: 'server_error' })
      expect([tries, acted(of)]).toEqual([3, 1])
      // The next message has what the failed runs did before it.
      const next = await runOf(await ask('plain', [prompt, user('say fine')]))
      expect(next).toMatchObject({ status: 'COMPLETED', input: [{ role: 'USER', content: 'say fine' }] })
      expect(acted(of)).toBe(1)
    })
  })

  describe('at a gate', () => {
    test('the client is told in words, and the same request goes on however late', async () => {
      const of = word()
      const held = await ask('gated', [acting(of)], { headers: atOnce })
      const [question] = await questions(of)
      expect(held.text).toContain(`${h.app.url}/approvals/${question!.id}`)
      await query(h.app.services.db, sql`delete from awaited_requests`)
      await decide(of)
      await h.until(runIdOf(held), ['COMPLETED'])
      const made = await ask('gated', [acting(of)], { url: other.url })
      expect([made.id, made.text, acted(of)]).toEqual([held.id, 'ok', 1])
    })

    test('any message goes on too, is held again, and is answered after the run, in the same thread', async () => {
      const of = word()
      const messages: Message[] = [acting(of)]
      const { thread } = await runOf(await holding(messages))
      messages.push(user('say first'))
      await holding(messages)
      messages.push(user('say second'))
      const next = ask('gated', messages, { headers: soon })
      await decide(of)
      const made = await next
      expect(made.text).toBe('ok\n\nsecond')
      const [run] = (
        await h.gql(
          'query($id: ID!) { thread(id: $id) { generations(first: 1) { nodes { input { messages { content } } } } } }',
          {
            id: thread.id,
          },
        )
      ).data['thread'].generations.nodes
      expect(run.input.messages).toEqual([{ content: 'say first' }, { content: 'say second' }])
      messages.push(made.message, user('say third'))
      expect((await ask('gated', messages)).text).toBe('third')
      expect([await questions(of), acted(of)]).toMatchObject([{ length: 1 }, 1])

      async function holding(turns: Message[]): Promise<Made> {
        const held = await ask('gated', turns, { headers: atOnce })
        expect(held.text).toContain('waits for an approval')
        turns.push(held.message)
        return held
      }
    })

    test.each([
      ['nothing', []],
      ['an empty answer', [{ role: 'assistant' as const, content: '' }]],
    ])('a message after a stop before any words does it too: the client keeps %s', async (_what, kept) => {
      const of = word()
      const connection = new AbortController()
      const { signal } = connection
      const left = ask('gated', [acting(of)], {
        headers: soon,
        fetch: (input, init) => fetch(input, { ...init, signal }),
        maxRetries: 0,
      }).catch(() => 'stopped')
      await asked(of)
      connection.abort()
      expect(await left).toBe('stopped')
      const [question] = await questions(of)
      const places = sql`select 1 from conversation_places where generation_id = ${question!.generation.id}`
      await expect.poll(() => query(h.app.services.db, places)).toHaveLength(2)
      const next = ask('gated', [acting(of), ...kept, user('say second')], { headers: soon })
      await decide(of)
      expect((await next).text).toBe('ok\n\nsecond')
      expect([await questions(of), acted(of)]).toMatchObject([{ length: 1 }, 1])
    })

    test('the same message twice at once, at two replicas, is answered by one run', async () => {
      const of = word()
      const messages: Message[] = [acting(of)]
      messages.push(
        (await ask('gated', messages, { headers: atOnce })).message,
        user('slow 1s before\nsay it went through'),
      )
      const both = await allHeld(2, () =>
        [h, other].map(({ url }) => ask('gated', messages, { url, headers: soon })),
      )
      await decide(of)
      expect((await Promise.all(both)).map(({ text }) => text)).toEqual(
        Array(2).fill('ok\n\nit went through'),
      )
      const threads = '{ generations(first: 2) { nodes { threadId inputLine } } }'
      const [newest, before] = (await h.gql(threads)).data['generations'].nodes
      expect([newest.threadId === before.threadId, acted(of)]).toEqual([true, 1])
    })

    test('each of several questions has its link', async () => {
      const words = [0, 1, 2, 3, 4, 5].map(word)
      const prompt = user(words.map((of) => `call act {"word": "${of}"}`).join('\n'))
      const { text } = await ask('gated', [prompt], { headers: atOnce })
      expect(text).toContain('waits for 6 approvals')
      expect(text.match(/^- .*act.*: http.*\/approvals\/apr_\w+$/gm)).toHaveLength(5)
      expect(text).toContain('and 1 more')
      for (const of of words) await decide(of, 'REJECT')
    })

    test('a client that says how long it waits is told before', async () => {
      const of = word()
      const headers = { 'x-stainless-timeout': '1' }
      const { text } = await ask('gated', [acting(of)], { headers })
      expect(text).toContain('waits for an approval')
      const odd = ask('gated', [acting(of)], { headers: { prefer: 'wait=301' } })
      await expect(odd).rejects.toMatchObject({ status: 400, param: 'Prefer' })
      await decide(of, 'REJECT')
    })

    test('a run that somebody cancels is an error that no client repeats, and the same request goes on', async () => {
      const of = word()
      const held = await ask('gated', [acting(of)], { headers: atOnce })
      await h.mutate('cancelGeneration', { generationId: runIdOf(held) }, '__typename')
      await h.until(runIdOf(held), ['CANCELLED'])
      const refused = { status: 400, code: 'run_cancelled' }
      await expect(ask('gated', [acting(of)], { maxRetries: 2 })).rejects.toMatchObject(refused)
      const next = await ask('gated', [acting(of)])
      expect((await runOf(next)).retryOf).toEqual({ id: runIdOf(held) })
      expect([next.text, acted(of)]).toEqual(['ok', 0])
    })

    test('a rejection is told to the model, and its answer to the client', async () => {
      const of = word()
      const made = ask('gated', [acting(of)], { headers: soon })
      await asked(of)
      await decide(of, 'REJECT')
      expect([(await made).text, acted(of)]).toEqual(['ok', 0])
    })

    test('what a run has in its log since, however much, keeps no client from the words', async () => {
      const of = word()
      const id = runIdOf(await ask('gated', [acting(of)], { headers: atOnce }))
      const events = Array.from({ length: 450 }, () => generationResumed({}))
      await query(
        h.app.services.db,
        sql`with g as (update generations set last_seq = last_seq + ${events.length}::int where id = ${id}
            returning id, project_id, requested_by, last_seq)
          ${insertGenerationEvents(events)}`,
      )
      expect((await ask('gated', [acting(of)], { headers: atOnce })).text).toContain('waits for an approval')
      await decide(of, 'REJECT')
    })

    test('calls for the client that it was not told yet go before the words', async () => {
      const of = word()
      const { db } = h.app.services
      let sawQuestion = () => {}
      const seen = new Promise<void>((resolve) => (sawQuestion = resolve))
      const stop = aroundStatements(db, async ({ text, execute }) => {
        if (text.includes('from steps')) await seen
        const result = (await execute()) as { rows?: unknown[] } & unknown[]
        if (/^select .* from approvals where status = 'PENDING'/.test(text) && (result.rows ?? result).length)
          sawQuestion()
        return result
      })
      const prompt = user(`call ask {"word": "x"}\ncall pay {"word": "${of}"}\nthen\nsay both`)
      const { message } = await ask('payer', [prompt], { headers: atOnce }).finally(stop)
      expect((message as OpenAI.Chat.ChatCompletionMessage).tool_calls).toHaveLength(1)
      await decide(of, 'REJECT')
    })

    test('an output that comes too late is refused, and told with the next message', async () => {
      const messages: Message[] = [user(`call ask {"word": "${word()}"}\nthen\nsay never`)]
      const first = await ask('plain', messages)
      await h.mutate('cancelGeneration', { generationId: runIdOf(first) }, '__typename')
      const [call] = (first.message as OpenAI.Chat.ChatCompletionMessage).tool_calls!
      messages.push(first.message, { role: 'tool', tool_call_id: call!.id, content: 'kitchen' })
      await expect(ask('plain', messages)).rejects.toMatchObject({ status: 409, code: 'generation_terminal' })
      const next = await ask('plain', [...messages, user('say on')])
      expect(next.text).toBe('on')
      expect(await runOf(next)).toMatchObject({
        thread: (await runOf(first)).thread,
        input: [
          { role: 'ASSISTANT', content: `(output of ${call!.id}: kitchen)` },
          { role: 'USER', content: 'say on' },
        ],
      })
    })

    test('calls that wait and calls for the client: the client answers its own', async () => {
      const of = word()
      const messages: Message[] = [user(`call ask {"word": "x"}\ncall pay {"word": "${of}"}\nthen\nsay both`)]
      const first = await ask('payer', messages, { headers: atOnce })
      const [call] = (first.message as OpenAI.Chat.ChatCompletionMessage).tool_calls!
      messages.push(first.message, { role: 'tool', tool_call_id: call!.id, content: 'y' })
      const held = await ask('payer', messages, { headers: atOnce })
      expect(held.text).toContain('waits for an approval')
      await decide(of)
      expect((await ask('payer', messages, { headers: soon })).text).toBe('both')
      expect(acted(of)).toBe(1)
    })
  })
})
