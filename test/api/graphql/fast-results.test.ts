/** Whose results are shared: by what was asked and who asks, never by luck. */
import { buildSchema, getOperationAST, parse } from 'graphql'
import { expect, test } from 'vitest'
import { createAnswerMeter } from '../../../src/api/graphql/builder/answer-size.ts'
import type { GraphQLContext } from '../../../src/api/graphql/builder/context.ts'
import { resultTexts, type ResultTexts } from '../../../src/api/graphql/transport/fast-results.ts'
import { silentLog } from '../../../src/core/log.ts'
import { AppError } from '../../../src/core/errors.ts'

const schema = buildSchema(`
  type Query { x: Int }
  type Subscription { events(after: String, kind: String): Event }
  type Event { plain: String, echo(word: String): String, owner: String, slowOwner: String, broken: String, large: String }
`)

interface Counts {
  runs: number
}

/** An event whose fields read what their names say. */
function makeEvent(counts: Counts, gate: Promise<unknown> = Promise.resolve()) {
  const owner = (context: GraphQLContext) => context.ctx.principal.name
  return {
    events: () => {
      counts.runs++
      return {
        plain: 'same for all',
        echo: ({ word }: { word: string }) => word,
        owner: (_args: unknown, context: GraphQLContext) => owner(context),
        slowOwner: async (_args: unknown, context: GraphQLContext) => {
          await gate
          return owner(context)
        },
        broken: () => {
          throw new AppError('FORBIDDEN', 'no')
        },
        large: (_args: unknown, context: GraphQLContext) => {
          context.answer.take(5000)
          return 'large'
        },
      }
    },
  }
}

const documents = new Map<string, ReturnType<typeof parse>>()

interface Subscriber {
  query: string
  operationName?: string
  variables?: Record<string, unknown>
  name?: string
  id?: string
  policy?: unknown
  now?: () => number
  maxBytes?: number
}

/** A subscriber; the same text has the same document, as in the server. */
function subscribe(one: Subscriber): ResultTexts {
  const document = documents.get(one.query) ?? parse(one.query)
  documents.set(one.query, document)
  const principal = { id: one.id ?? 'key_a', name: one.name ?? 'a', policy: one.policy ?? 'all' }
  const answer = createAnswerMeter(one.maxBytes ?? 4000)
  const contextValue = {
    answer,
    ctx: { principal },
    renewLoaders: () => answer.renew(),
  } as unknown as GraphQLContext
  const operation = getOperationAST(document, one.operationName)!
  return resultTexts(
    { schema, document, operation, variableValues: one.variables, contextValue },
    silentLog,
    one.now,
  )
}

const plain = 'subscription($after: String) { events(after: $after) { plain } }'
const slow = 'subscription { events { slowOwner } }'

test('subscribers that ask the same get the same text from one execution, whoever they are and wherever they began', () => {
  const counts = { runs: 0 }
  const event = makeEvent(counts)
  const texts = [
    subscribe({ query: plain, variables: { after: 'x' } }),
    subscribe({ query: plain, variables: { after: 'y' } }),
    subscribe({ query: plain, id: 'key_b', name: 'b', policy: 'none' }),
  ].map((one) => one.textOf(event))
  expect(new Set(texts)).toEqual(new Set(['{"data":{"events":{"plain":"same for all"}}}']))
  expect(counts.runs).toBe(1)
})

test('another event is executed again, however equal it is', () => {
  const counts = { runs: 0 }
  const one = subscribe({ query: plain })
  one.textOf(makeEvent(counts))
  one.textOf(makeEvent(counts))
  expect(counts.runs).toBe(2)
})

test('variables inside the selection, in directives and in fragments keep results apart', () => {
  for (const query of [
    'subscription($word: String) { events { echo(word: $word) } }',
    'subscription($word: String) { ... on Subscription { events { ...F } } } fragment F on Event { echo(word: $word) }',
    'subscription($word: String, $after: String) { events(after: $after, kind: $word) { plain echo(word: $word) } }',
  ]) {
    const event = makeEvent({ runs: 0 })
    const [x, y] = ['x', 'y'].map((word) => subscribe({ query, variables: { word } }).textOf(event))
    expect([x, y], query).toEqual([expect.stringContaining('"x"'), expect.stringContaining('"y"')])
  }
  const query = 'subscription($on: Boolean!) { events { plain @include(if: $on) } }'
  const event = makeEvent({ runs: 0 })
  expect(subscribe({ query, variables: { on: true } }).textOf(event)).toContain('same')
  expect(subscribe({ query, variables: { on: false } }).textOf(event)).not.toContain('same')
})

test('two operations of one document keep their results apart', () => {
  const query = 'subscription A { events { plain } } subscription B { events { echo(word: "b") } }'
  const event = makeEvent({ runs: 0 })
  const [a, b] = ['A', 'B'].map((operationName) => subscribe({ query, operationName }).textOf(event))
  expect([a, b]).toEqual([expect.stringContaining('plain'), expect.stringContaining('echo')])
})

test('what depends on the caller is never given to another one, in any order', async () => {
  for (const query of ['subscription { events { owner } }', slow]) {
    const event = makeEvent({ runs: 0 })
    const callers = ['a', 'b', 'a', 'c', 'b'].map((name) => ({ query, name, id: `key_${name}` }))
    const texts = await Promise.all(callers.map((one) => subscribe(one).textOf(event)))
    expect(texts.map((text) => /"(\w)"/.exec(text)?.[1])).toEqual(['a', 'b', 'a', 'c', 'b'])
  }
})

test('the same key with other rights is another caller', async () => {
  const counts = { runs: 0 }
  const event = makeEvent(counts)
  await Promise.all([1, 2].map((policy) => subscribe({ query: slow, policy }).textOf(event)))
  expect(counts.runs).toBe(2)
})

test('equal callers wait for one execution, and later ones get a fresh one', async () => {
  const counts = { runs: 0 }
  let open = () => {}
  const event = makeEvent(counts, new Promise<void>((resolve) => (open = resolve)))
  const clock = { now: 0 }
  const ask = () => subscribe({ query: slow, now: () => clock.now }).textOf(event)
  const together = [ask(), ask()]
  clock.now = 499
  together.push(ask())
  expect(counts.runs).toBe(1)
  clock.now = 500
  together.push(ask())
  expect(counts.runs).toBe(2)
  open()
  expect(new Set(await Promise.all(together)).size).toBe(1)
})

test('a result with errors is not shared: each subscriber asks for itself', async () => {
  const counts = { runs: 0 }
  const event = makeEvent(counts)
  const query = 'subscription { events { plain broken slowOwner } }'
  const texts = await Promise.all([1, 2, 3].map(() => subscribe({ query }).textOf(event)))
  expect(counts.runs).toBe(3)
  for (const text of texts) {
    const { data, errors } = JSON.parse(text)
    expect(data.events).toEqual({ plain: 'same for all', broken: null, slowOwner: 'a' })
    expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'FORBIDDEN' } })])
  }
})

test('the budget of a response holds for shared results, and a fault of one event does not stay', () => {
  const query = 'subscription { events { large } }'
  const small = subscribe({ query, maxBytes: 4000 })
  const text = small.textOf(makeEvent({ runs: 0 }))
  expect(text).toContain('RESPONSE_TOO_LARGE')
})
