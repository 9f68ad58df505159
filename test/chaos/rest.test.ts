/**
 * kill -9 while a client of /api/v1 waits: it comes back to the process that comes next, and finds its run by its id or its
 * idempotency key. Each event of the log reaches a resumed stream once, and no call is executed twice.
 */
import { SoatClient } from '@soat/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mutate } from '../support/ask.ts'
import { dose } from '../support/dose.ts'
import { first, key, kinds, prompt, second, startKillable, type Killable } from './killable.ts'

interface ServerEvent {
  id: string | null
  type: string
  data: Record<string, any>
}

describe.each(kinds)('on %s', (kind) => {
  let server: Killable
  beforeAll(async () => {
    server = await startKillable(kind)
  })
  afterAll(() => server?.close())

  const soat = () => new SoatClient({ baseUrl: server.url(), token: key })
  const runPath = (agent: string, id = '') => `/api/v1/agents/${agent}/generate${id && `/${id}`}`
  const send = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${server.url()}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  const restart = async () => {
    await server.kill()
    await server.start()
  }
  /** What the run is when it is the client's turn, or after a second in which nothing changed that. */
  const begin = async (agent: string, content: string, idempotencyKey: string) => {
    const { data, error } = await soat().agents.createAgentGeneration({
      path: { agent_id: agent },
      body: { messages: [{ role: 'user', content }] },
      headers: { prefer: 'wait=1', 'Idempotency-Key': idempotencyKey } as never,
    })
    if (error) throw new Error(JSON.stringify(error))
    return data as Record<string, any>
  }
  /** The run once it has this status: on a busy machine a second may pass before it has anything to say. */
  const beginUntil = async (status: string, ...run: Parameters<typeof begin>) => {
    let now: Record<string, any> = {}
    await expect.poll(async () => (now = await begin(...run))['status']).toBe(status)
    return now
  }
  const read = async (agent: string, id: string, wait: number) =>
    (await (await send(runPath(agent, id), { prefer: `wait=${wait}` })).json()) as Record<string, any>

  const places: [string, (events: ServerEvent[]) => boolean][] = [
    ['in the first text', (events) => textIn(events).includes('charlie')],
    ['after the call', (events) => events.some(({ type }) => type === 'tool_call.settled')],
    ['in the second text', (events) => textIn(events).includes('mike')],
  ]
  test.each(places.slice(-dose(1, 3)))(
    'killed %s of a stream',
    { timeout: 180_000 },
    async (where, isPlace) => {
      const before = server.paid()
      const { teller } = server.agents
      const body = { messages: [{ role: 'user', content: prompt }], stream: true }
      const begun = { 'Idempotency-Key': where }
      const got: ServerEvent[] = []
      for await (const event of eventsOf(await send(runPath(teller), begun, body))) {
        got.push(event)
        if (isPlace(got)) break
      }
      await restart()
      const numbered = got.filter(({ id }) => id !== null)
      // Without the id of the run, as a client that was killed too: the key of the request finds it.
      const { id } = await begin(teller, prompt, where)
      const after = { accept: 'text/event-stream', 'last-event-id': numbered.at(-1)!.id! }
      for await (const event of eventsOf(await send(runPath(teller, id), after)))
        if (event.id !== null || event.type === 'result') numbered.push(event)
      const ids = numbered.flatMap((event) => event.id ?? [])
      expect(new Set(ids).size, 'no event twice').toBe(ids.length)
      const whole: string[] = []
      for await (const event of eventsOf(
        await send(runPath(teller, id), { accept: 'text/event-stream', 'last-event-id': '' }),
      ))
        if (event.id !== null) whole.push(event.id)
      expect(ids, 'and none is missing').toEqual(whole)
      expect(numbered.at(-1)).toMatchObject({ type: 'result', data: { status: 'completed', text: second } })
      expect(numbered.filter(({ type }) => type === 'tool_call.settled')).toHaveLength(1)
      expect(server.paid() - before).toBe(1)
    },
  )

  test('killed while a person is asked: the verdict runs the call once', { timeout: 180_000 }, async () => {
    const before = server.paid()
    const { careful } = server.agents
    const asked = 'call pay {}\nthen\nsay paid'
    const waiting = await beginUntil('awaiting_approval', careful, asked, 'gated')
    expect(waiting).toMatchObject({ approvals: [{ tool_name: 'pay' }] })
    await restart()
    expect(await begin(careful, asked, 'gated')).toEqual(waiting)
    const [{ approval_id: approvalId }] = waiting['approvals']
    const waits = read(careful, waiting['id'], 50).catch(() => null)
    await mutate(server.url(), key, 'decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    await restart()
    await waits
    expect(await read(careful, waiting['id'], 20)).toMatchObject({ status: 'completed', text: 'paid' })
    // The call that was on its way when the process was killed may be unknown, and is not sent again.
    expect(server.paid() - before).toBeLessThanOrEqual(1)
  })

  test('killed while the client is asked: its output is taken once', { timeout: 180_000 }, async () => {
    const before = server.paid()
    const { teller } = server.agents
    const asked = `call ask {}\nthen\ncall pay {}\nthen\nsay ${first}`
    const waiting = await beginUntil('requires_action', teller, asked, 'client')
    expect(waiting).toMatchObject({ tool_calls: [{ tool_name: 'ask' }] })
    await restart()
    const { id, tool_calls: calls } = await begin(teller, asked, 'client')
    expect({ id, calls }).toEqual({ id: waiting['id'], calls: waiting['tool_calls'] })
    const submit = (output: string) =>
      soat().agents.submitAgentToolOutputs({
        path: { agent_id: teller, generation_id: id },
        body: { tool_outputs: [{ tool_call_id: calls[0].tool_call_id, output }] },
      })
    expect((await submit('yes')).data).toMatchObject({ status: 'completed', text: first })
    await restart()
    // A client that lost the answer sends it again, and gets the same state.
    expect((await submit('yes')).data).toMatchObject({ id, status: 'completed', text: first })
    expect((await submit('no')).response?.status).toBe(409)
    expect(server.paid() - before).toBe(1)
  })
})

const textIn = (events: ServerEvent[]) =>
  events.map(({ type, data }) => (type === 'text_delta' ? (data['text'] as string) : '')).join('')

/** The server-sent events of a response, until it ends. */
async function* eventsOf({ body }: Response): AsyncGenerator<ServerEvent> {
  let left = ''
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (left + piece).split('\n\n')
    left = blocks.pop()!
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      const data = field('data')
      if (data) yield { id: field('id') ?? null, type: field('event')!, data: JSON.parse(data) }
    }
  }
}
