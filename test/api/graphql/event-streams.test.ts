/** Subscribers over server-sent events share one execution of an event, and get what their own execution would give. */
import { buildSchema } from 'graphql'
import { createYoga } from 'graphql-yoga'
import { expect, test } from 'vitest'
import { createAnswerMeter } from '../../../src/api/graphql/builder/answer-size.ts'
import { operationsPlugin } from '../../../src/api/graphql/transport/yoga.ts'
import { silentLog } from '../../../src/core/log.ts'

/**
 * A server whose subscribers all get these event objects; `hang` leaves the stream open behind them, and behind `failures` of them
 * it is as if there had been none.
 */
function serve(events: object[], { hang = false, failures = 0 } = {}) {
  const ended: string[] = []
  const schema = buildSchema(
    'type Query { x: Int } type Subscription { events(after: String): Event } type Event { n: Int, broken: Int }',
  )
  schema.getSubscriptionType()!.getFields()['events']!.subscribe = (_root, { after }) => {
    if (after === 'refused') throw new Error('This cursor is not known.')
    let at = 0
    let failed = 0
    let release = () => {}
    return {
      async next() {
        if (at === 1 && failed++ < failures) throw new Error('internal detail')
        if (at < events.length) return { done: false, value: events[at++] }
        if (hang) await new Promise<void>((resolve) => (release = resolve))
        return { done: true, value: undefined }
      },
      async return() {
        ended.push('return')
        release()
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
  const yoga = createYoga({
    schema,
    logging: false,
    context: () => {
      const answer = createAnswerMeter(10_000)
      return { answer, ctx: { principal: { id: 'key_a' } }, renewLoaders: () => answer.renew() }
    },
    plugins: [operationsPlugin({ guard: () => null, log: silentLog })],
  })
  const subscribe = (after: string, signal?: AbortSignal, selection = '{ n }') =>
    yoga.fetch('http://localhost/graphql', {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({
        query: `subscription($after: String) { events(after: $after) ${selection} }`,
        variables: { after },
      }),
      ...(signal ? { signal } : {}),
    })
  return { subscribe, ended }
}

/** An event that counts how often it is executed. */
const event = (n: number, counts: number[]) => ({
  events: () => ({
    n: () => (counts.push(n), n),
    broken: () => {
      throw new Error('internal detail')
    },
  }),
})

const dataOf = (text: string) => [...text.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json!))

test('fifty subscribers with different cursors cause one execution of each event', async () => {
  const counts: number[] = []
  const { subscribe } = serve([event(1, counts), event(2, counts)])
  const texts = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => (await subscribe(`cursor-${i}`)).text()),
  )
  for (const text of texts) {
    expect(dataOf(text)).toEqual([{ data: { events: { n: 1 } } }, { data: { events: { n: 2 } } }])
    expect(text).toMatch(/event: complete/)
  }
  expect(counts).toEqual([1, 2])
})

test('a refused subscription, and a field that fails, are errors of that subscriber, and masked', async () => {
  const counts: number[] = []
  const { subscribe } = serve([event(1, counts)])
  expect(await (await subscribe('refused')).text()).toMatch(/"errors":\[/)
  const failed = await (await subscribe('x', undefined, '{ n broken }')).text()
  expect(dataOf(failed)[0]).toMatchObject({ errors: [{ path: ['events', 'broken'] }] })
  expect(failed).not.toContain('internal detail')
  expect(dataOf(await (await subscribe('y')).text())).toEqual([{ data: { events: { n: 1 } } }])
})

test('a stream that fails ends with one error: what comes behind it would be behind a gap', async () => {
  const { subscribe, ended } = serve([event(1, []), event(2, [])], { failures: 3 })
  const text = await (await subscribe('x')).text()
  expect(dataOf(text)).toEqual([
    { data: { events: { n: 1 } } },
    { errors: [expect.objectContaining({ extensions: { code: 'INTERNAL_SERVER_ERROR' } })] },
  ])
  expect(text).toMatch(/event: complete/)
  expect(text).not.toContain('internal detail')
  expect(ended).toEqual(['return'])
})

test('a subscriber that leaves while nothing happens ends its stream at once', async () => {
  const { subscribe, ended } = serve([event(1, [])], { hang: true })
  const leaving = new AbortController()
  const response = await subscribe('x', leaving.signal)
  const reader = response.body!.getReader()
  for (let text = ''; !text.includes('data: ');) text += new TextDecoder().decode((await reader.read()).value)
  await reader.cancel()
  expect(ended).toEqual(['return'])
})
