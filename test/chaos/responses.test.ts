/**
 * kill -9 in the middle of a streamed response: the client goes on after the last number that it has, at the process
 * that comes next. It gets the rest once, the run goes on by itself, and no call is executed twice.
 */
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../support/ask.ts'
import { openClient } from '../support/openai-clients.ts'
import { first, key, kinds, prompt, second, startKillable, type Killable } from './killable.ts'

type Event = OpenAI.Responses.ResponseStreamEvent

describe.each(kinds)('on %s', (kind) => {
  let server: Killable
  beforeAll(async () => {
    server = await startKillable(kind)
  })
  afterAll(() => server?.close())

  /** Where the process is killed: in the first text, after the call has run, in the second text. */
  const places: [string, (event: Event, text: string) => boolean][] = [
    ['before any text', ({ type }) => type === 'response.in_progress'],
    ['in the first text', (_event, text) => text.includes('charlie')],
    [
      'after the call',
      (event) => event.type === 'response.output_item.done' && event.item.type === 'mcp_call',
    ],
    ['in the second text', (_event, text) => text.includes('mike')],
  ]
  test.each(places)('killed %s', { timeout: 180_000 }, async (_where, isPlace) => {
    const before = server.paid()
    const client = await openClient(6, server.url(), key)
    const got: Event[] = []
    const body = { model: 'teller', input: prompt, stream: true as const }
    const cut = (async () => {
      let text = ''
      for await (const event of await client.responses.create(body)) {
        got.push(event)
        if (event.type === 'response.output_text.delta') text += event.delta
        if (isPlace(event, text)) return server.kill()
      }
      throw new Error('The response ended before the kill.')
    })()
    await cut
    const { id } = (got[0] as { response: { id: string } }).response
    await server.start()
    const next = await openClient(6, server.url(), key)
    const last = got.at(-1)!.sequence_number
    for await (const event of await next.responses.retrieve(id, { stream: true, starting_after: last }))
      got.push(event)

    const numbers = got.map((event) => event.sequence_number)
    expect(numbers, 'every number once, rising').toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    expect(got.at(-1)).toMatchObject({ type: 'response.completed' })
    const { response } = got.at(-1) as OpenAI.Responses.ResponseCompletedEvent
    expect(response.output.filter(({ type }) => type === 'mcp_call')).toMatchObject([{ status: 'completed' }])
    const done = got.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    const whole = done.filter((item) => !('status' in item) || item.status !== 'incomplete')
    expect(whole.map(textIn), 'each item ends once').toEqual([first, 'pay', second])
    expect(textsOf(got), 'the pieces of each message that was committed are its text').toEqual(
      Object.fromEntries(
        whole.filter(({ type }) => type === 'message').map((item) => [item.id, textIn(item)]),
      ),
    )
    expect(server.paid() - before).toBe(1)
    const again = await next.responses.retrieve(id)
    expect(again).toMatchObject({ status: 'completed', output: whole })
  })
})

describe.each(kinds)('chat completions on %s', (kind) => {
  let server: Killable
  beforeAll(async () => {
    server = await startKillable(kind)
  })
  afterAll(() => server?.close())

  test.each(['charlie', 'mike'])(
    'killed at the word %s: the same request gets the whole answer, and the next turn goes on in the thread',
    { timeout: 180_000 },
    async (word) => {
      const before = server.paid()
      const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [
        { role: 'user', content: `${prompt} ${word}` },
      ]
      const body = { model: 'teller', messages, stream: false as const }
      const client = await openClient(6, server.url(), key)
      let text = ''
      const cut = async () => {
        for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
          text += choices[0]?.delta.content ?? ''
          if (text.includes(word)) return server.kill()
        }
        throw new Error('The answer ended before the kill.')
      }
      await cut()
      await server.start()
      const next = await openClient(6, server.url(), key)
      const made = await next.chat.completions.create(body)
      expect(made.choices[0]!.message.content).toBe(`${first}\n\n${second} ${word}`)
      expect(server.paid() - before).toBe(1)
      messages.push(made.choices[0]!.message, { role: 'user', content: 'say on' })
      await server.kill()
      await server.start()
      const after = await openClient(6, server.url(), key)
      const turn = await after.chat.completions.create(body)
      expect(turn.choices[0]!.message.content).toBe('on')
      const list = 'query($ids: [ID!]!) { nodes(ids: $ids) { ... on Generation { threadId } } }'
      const ids = [made, turn].map(({ id }) => `gen_${id.split('_')[1]}`)
      const [one, two] = (await ask(server.url(), key, list, { ids })).data['nodes']
      expect(one.threadId).toBe(two.threadId)
    },
  )
})

function textIn(item: OpenAI.Responses.ResponseOutputItem): string {
  if (item.type === 'mcp_call') return item.name
  if (item.type !== 'message') return item.type
  return item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
}

/** The pieces of text by the message that they belong to; of messages that were given up, nothing. */
function textsOf(events: Event[]): Record<string, string> {
  const texts: Record<string, string> = {}
  const completed = new Set<string>()
  for (const event of events) {
    if (event.type === 'response.output_text.delta')
      texts[event.item_id] = (texts[event.item_id] ?? '') + event.delta
    if (event.type !== 'response.output_item.done' || event.item.type !== 'message') continue
    if (event.item.status === 'completed') completed.add(event.item.id)
  }
  return Object.fromEntries(Object.entries(texts).filter(([id]) => completed.has(id)))
}
