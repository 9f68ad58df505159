/** What a gate could let pass, computed from verdicts: never a call that was not approved as it was asked. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exactNumber, isJsonNumber, readJson, type Json, type JsonObject } from '../../../src/core/json.ts'
import { compareNumbers } from '../../../src/core/exact-schema.ts'
import { adviceFrom, type SettledCall } from '../../../src/domain/approvals/gate-advice.ts'
import { gateInput, judgeGate, type GateInput, type GatePolicy } from '../../../src/domain/gates/index.ts'

const schema = {
  type: 'object',
  properties: {
    amount: { type: 'number', title: 'Amount' },
    currency: { type: 'string', enum: ['CHF', 'EUR'] },
    order: { type: 'object', properties: { express: { type: 'boolean' } } },
    order_id: { type: 'integer' },
  },
} satisfies JsonObject
const gateOf = (gate: GateInput): GatePolicy => gateInput.parse(gate)
const always = gateOf({ autoApprove: false })

const settled = (args: JsonObject, more: Partial<SettledCall> = {}): SettledCall => ({
  arguments: args,
  masked: [],
  schema,
  isApproved: true,
  ...more,
})
const many = (count: number, args: (at: number) => JsonObject, more: Partial<SettledCall> = {}) =>
  Array.from({ length: count }, (_, at) => settled(args(at), more))
const adviceOf = (calls: SettledCall[], gate = always, of: JsonObject = schema) =>
  adviceFrom({ schema: of, gate, projectId: 'proj_advice' }, calls)
const isStopped = (gate: GatePolicy, args: JsonObject) => judgeGate([gate], args, 'proj_advice') !== null
const number = (text: string) => exactNumber(text)!

/** Near each other at every scale, so that boundaries are met: below zero, with fractions, and beyond doubles. */
const amounts = fc.constantFrom(
  '-3',
  '-2.5',
  '-0',
  '0.1',
  '0.3',
  '0.30000000000000005',
  '60',
  '60.01',
  '1e21',
  '9007199254740993',
  '9007199254740992',
  '9007199254740994.5',
  '123456789012345678901234567890.12',
  '-1e-30',
)
const callOf = fc.record({
  amount: fc.option(fc.oneof(amounts.map(number), fc.constantFrom<Json>('60', true, null, [1])), {
    nil: undefined,
  }),
  currency: fc.constantFrom('EUR', 'CHF'),
  express: fc.option(fc.boolean(), { nil: undefined }),
  outcome: fc.constantFrom('APPROVED', 'APPROVED', 'APPROVED', 'APPROVED', 'APPROVED', 'OTHER'),
  copies: fc.constantFrom(1, 2, 20),
})
type Stops = (args: JsonObject) => boolean
const order = (value: Json | undefined, limit: Json) =>
  isJsonNumber(value) ? compareNumbers(value, limit) : null
const gates = fc.constantFrom<{ gate: GateInput; stops: Stops }[]>(
  { gate: { autoApprove: false }, stops: () => true },
  {
    gate: { when: { properties: { amount: { exclusiveMinimum: 0.3 } }, required: ['amount'] } },
    stops: ({ amount }) => amount !== undefined && (order(amount, 0.3) ?? 1) > 0,
  },
  {
    gate: { when: { properties: { amount: { minimum: 0, maximum: 60 } } } },
    stops: ({ amount }) => (order(amount, 0) ?? 0) >= 0 && (order(amount, 60) ?? 0) <= 0,
  },
  {
    gate: { when: { anyOf: [{ properties: { currency: { const: 'EUR' } } }, { required: ['order'] }] } },
    stops: ({ currency, order: given }) => currency === 'EUR' || given !== undefined,
  },
  {
    gate: { when: { properties: { currency: { not: { const: 'CHF' } } } } },
    stops: ({ currency }) => currency !== 'CHF',
  },
)

test('advice never covers a call that was rejected, expired, voided or edited', () => {
  let advised = 0
  fc.assert(
    fc.property(fc.array(callOf, { minLength: 1, maxLength: 8 }), gates, (found, { gate, stops }) => {
      const calls = found.flatMap(({ amount, currency, express, outcome, copies }) =>
        many(
          copies,
          () => ({
            ...(amount === undefined ? {} : { amount }),
            currency,
            ...(express === undefined ? {} : { order: { express } }),
          }),
          { isApproved: outcome === 'APPROVED' },
        ),
      )
      const advice = adviceOf(calls, gateOf(gate))
      if (!advice) return
      advised += 1
      const { kind, field, value } = advice
      const isInside = (args: JsonObject) => kind === 'EVERY' || holds(kind, valueAt(args, field!), value)
      for (const { arguments: args, isApproved } of calls) {
        if (isInside(args)) expect(isApproved).toBe(true)
        // The draft lets nothing pass but what passed before, and what the words say.
        if (!isStopped(advice.gate, args)) expect(isInside(args) || !stops(args)).toBe(true)
      }
      expect(advice.approved).toBeGreaterThanOrEqual(20)
      expect(calls.filter((one) => isInside(one.arguments)).length).toBeGreaterThanOrEqual(advice.approved)
      expect(gateInput.safeParse({ ...advice.gate }).success).toBe(true)
    }),
    { numRuns: 300 },
  )
  // Not true of nothing.
  expect(advised).toBeGreaterThan(50)
})

function valueAt(args: Json, pointer: string): Json | undefined {
  return pointer
    .slice(1)
    .split('/')
    .reduce<Json | undefined>((at, name) => (at as JsonObject | undefined)?.[name], args)
}

function holds(kind: string, value: Json | undefined, limit: Json): boolean {
  if (kind === 'EQUAL') return value === limit
  const found = order(value, limit)
  return found !== null && (kind === 'AT_MOST' ? found <= 0 : found >= 0)
}

describe('of numbers', () => {
  test('40 approvals of 40 up to 60 are advice up to 60, and say nothing about 60.01', () => {
    const advice = adviceOf(many(40, (at) => ({ amount: at < 39 ? at : 60 })))!
    expect(advice).toMatchObject({
      kind: 'AT_MOST',
      field: '/amount',
      title: 'Amount',
      value: 60,
      approved: 40,
    })
    expect(advice.gate).toEqual({
      ...always,
      mode: 'WHEN',
      when: { properties: { amount: { exclusiveMinimum: 60 } } },
    })
    expect(isStopped(advice.gate, { amount: 60 })).toBe(false)
    for (const args of [{ amount: 60.01 }, { amount: '5' }, {}])
      expect(isStopped(advice.gate, args)).toBe(true)
  })

  test('a rejection at a value takes it and everything beyond it, also where doubles see no difference', () => {
    const calls = many(20, () => ({ amount: number('9007199254740992') }))
    const beyond = many(5, () => ({ amount: number('9007199254740993') }))
    const refused = settled({ amount: number('9007199254740993') }, { isApproved: false })
    expect(adviceOf([...calls, ...beyond, refused])).toMatchObject({ value: 9007199254740992, approved: 20 })
    expect(adviceOf([...calls, { ...refused, arguments: { amount: 9007199254740992 } }])).toBeNull()
  })

  test('the other end counts where the low values were refused, below zero too', () => {
    const calls = many(20, (at) => ({ amount: at - 10 }))
    const refused = settled({ amount: -11 }, { isApproved: false })
    const advice = adviceOf([...calls, refused])!
    expect(advice).toMatchObject({ kind: 'AT_LEAST', value: -10, approved: 20 })
    expect(advice.gate.when).toEqual({ properties: { amount: { exclusiveMaximum: -10 } } })
  })

  test('19 approvals are too few, and 20 are enough', () => {
    expect(adviceOf(many(19, () => ({ amount: 5 })))).toBeNull()
    expect(adviceOf(many(20, () => ({ amount: 5 })))).toMatchObject({ approved: 20 })
  })

  test('a limit of now is moved, and only calls that it stops count', () => {
    const over50 = gateOf({
      when: { properties: { amount: { exclusiveMinimum: 50 } }, required: ['amount'] },
    })
    expect(
      adviceOf(
        many(40, () => ({ amount: 40 })),
        over50,
      ),
    ).toBeNull()
    const advice = adviceOf(
      [...many(40, () => ({ amount: 40 })), ...many(20, () => ({ amount: 60 }))],
      over50,
    )!
    expect(advice).toMatchObject({ value: 60, approved: 20 })
    expect(advice.gate.when).toEqual({
      properties: { amount: { exclusiveMinimum: 60 } },
      required: ['amount'],
    })
  })

  test('calls that were asked under another type of the field are no evidence, and their rejections count', () => {
    const before = { ...schema, properties: { ...schema.properties, amount: { type: 'integer' } } }
    const old = many(40, () => ({ amount: 5 }), { schema: before })
    expect(adviceOf(old, always)).toMatchObject({ kind: 'EVERY' })
    const now = many(20, () => ({ amount: 9 }))
    expect(adviceOf([...old, ...now])).toMatchObject({ kind: 'AT_MOST', value: 9, approved: 20 })
    expect(
      adviceOf([...old, ...now, settled({ amount: 1 }, { schema: before, isApproved: false })]),
    ).toMatchObject({
      kind: 'AT_LEAST',
      value: 9,
    })
  })

  test('a number that names something is no amount', () => {
    const calls = many(30, (at) => ({ order_id: at }))
    expect(adviceOf([...calls, settled({}, { isApproved: false })])).toBeNull()
  })
})

describe('of values', () => {
  test('one value of a field is advice where numbers are not', () => {
    const calls = many(25, () => ({ currency: 'EUR', amount: 5 }))
    const refused = [5, 1, 9].map((amount) => settled({ currency: 'CHF', amount }, { isApproved: false }))
    const advice = adviceOf([...calls, ...refused])!
    expect(advice).toMatchObject({ kind: 'EQUAL', field: '/currency', value: 'EUR', approved: 25 })
    expect(advice.gate.when).toEqual({ properties: { currency: { not: { const: 'EUR' } } } })
    expect(
      adviceOf([...calls, ...refused, settled({ currency: 'EUR', amount: 5 }, { isApproved: false })]),
    ).toBeNull()
  })

  test('a field within an object has its place in the condition', () => {
    const refused = settled({ order: { express: true } }, { isApproved: false })
    const advice = adviceOf([...many(20, () => ({ order: { express: false } })), refused])!
    expect(advice).toMatchObject({ field: '/order/express', value: false })
    for (const args of [{}, { order: {} }, { order: 'no' }, { order: { express: true } }])
      expect(isStopped(advice.gate, args)).toBe(true)
  })

  test('every call is advice where no field says more, and nothing where the gate lets calls pass', () => {
    const calls = many(20, () => ({}))
    expect(adviceOf(calls)).toMatchObject({ kind: 'EVERY', field: null, gate: { mode: 'NEVER', when: null } })
    expect(adviceOf(calls, gateOf({ autoApprove: true }))).toBeNull()
    expect(adviceOf([...calls, settled({}, { isApproved: false })])).toBeNull()
  })
})

test('a field that was masked in any call is never used', () => {
  const calls = many(30, () => ({ amount: 5, currency: 'EUR' }))
  const hidden = settled({ amount: 7, currency: 'EUR' }, { masked: [['amount']] })
  expect(adviceOf([...calls, hidden])).toMatchObject({ kind: 'EQUAL', field: '/currency' })
  const [inner] = many(1, () => ({ order: { express: true } }), { masked: [['order']] })
  const express = many(30, () => ({ order: { express: true } }))
  expect(adviceOf([...express, inner!, settled({}, { isApproved: false })])).toBeNull()
})

test('names and patterns that a stranger wrote neither break the advice nor hold it up', () => {
  const hostile = readJson(`{ "type": "object", "properties": {
    "__proto__": { "type": "number" }, "a/b~c": { "$ref": "#/$defs/n" }, "loop": { "$ref": "#/properties/loop" },
    "text": { "type": "string", "pattern": "^(a+)+$" } }, "$defs": { "n": { "type": "number" } } }`) as JsonObject
  const named = readJson(
    '{ "__proto__": 5, "text": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }',
  ) as JsonObject
  const refused = settled({ text: 'x' }, { isApproved: false, schema: hostile })
  const advice = adviceOf([...many(20, () => named, { schema: hostile }), refused], always, hostile)!
  // Conditions about `__proto__` judge nothing: the draft was tried, and another field found.
  expect(advice).toMatchObject({ kind: 'EQUAL', field: '/text' })
  expect(isStopped(advice.gate, named)).toBe(false)
  expect(isStopped(advice.gate, { amount: 1 })).toBe(true)
  const odd = adviceOf([...many(20, () => ({ 'a/b~c': 1 }), { schema: hostile }), refused], always, hostile)
  expect(odd).toMatchObject({ field: '/a~1b~0c', value: 1 })
})
