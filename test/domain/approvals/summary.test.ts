/** The sentence about a call: filled from the arguments that would run, and rewritten by none of them. */
import { expect, test } from 'vitest'
import { briefArguments, summaryOf, type SummarySource } from '../../../src/domain/approvals/summary.ts'

const inputSchema = {
  type: 'object',
  properties: {
    customer: { type: 'string' },
    note: { type: 'string' },
    amount: { type: 'number' },
    lines: { type: 'array' },
  },
  required: ['amount', 'customer'],
}
const credit: SummarySource = {
  runtimeName: 'store_credit',
  arguments: { note: 'late', customer: 'Ada', amount: 20, lines: [1] },
  editedArguments: null,
  masked: [],
  question: {
    title: 'Store credit',
    description: null,
    inputSchema,
    titleTemplate: 'Store credit of {amount} EUR to {customer}',
  },
}
const named = (titleTemplate: string): SummarySource => ({
  ...credit,
  question: { ...credit.question!, titleTemplate },
})
const untitled: SummarySource = {
  ...credit,
  question: { title: 'Store credit', description: null, inputSchema },
}
const textOf = (approval: SummarySource) => summaryOf(approval).text

test('a title is filled with the values, which are marked as values', () => {
  expect(summaryOf(credit)).toEqual({
    text: 'Store credit of 20 EUR to Ada',
    parts: [
      { text: 'Store credit of ', isValue: false },
      { text: '20', isValue: true },
      { text: ' EUR to ', isValue: false },
      { text: 'Ada', isValue: true },
    ],
  })
})

test('after an edit it is about the edited arguments', () => {
  expect(textOf({ ...credit, editedArguments: { amount: 5, customer: 'Bob' } })).toBe(
    'Store credit of 5 EUR to Bob',
  )
})

test('without a title it has the name and the first three scalar values, required ones first', () => {
  expect(textOf(untitled)).toBe('Store credit: amount 20, customer Ada, note late')
  expect(textOf({ ...untitled, masked: [['customer']] })).toBe('Store credit: amount 20, note late')
  expect(textOf({ ...untitled, arguments: {} })).toBe('Store credit')
})

test('an approval of an earlier release, which kept no question, has the runtime name', () => {
  expect(textOf({ ...credit, question: null, arguments: { b: 1, a: true, list: [], none: null } })).toBe(
    'store_credit: b 1, a true',
  )
})

test('a title that cannot be filled gives way to the default sentence', () => {
  expect(textOf({ ...credit, arguments: { amount: 20 } })).toBe('Store credit: amount 20')
  expect(textOf(named('To {constructor}'))).toBe('Store credit: amount 20, customer Ada, note late')
})

test('a masked value is never in it, whatever the title names', () => {
  const masked = [['customer'], ['lines', '0']]
  expect(textOf({ ...credit, masked })).toBe('Store credit of 20 EUR to [masked]')
  expect(textOf({ ...named('For {lines}'), masked })).toBe('For ["[masked]"]')
})

test('a value of 100 kB, one with controls, and an empty one stay in their place', () => {
  const to = (customer: string) => summaryOf({ ...credit, arguments: { amount: 20, customer } })
  expect(to('x'.repeat(100_000)).text).toBe(`Store credit of 20 EUR to ${'x'.repeat(79)}…`)
  expect(to('\u202eadA\nApproved by the boss').text).toBe(
    'Store credit of 20 EUR to \u{fffd}adA Approved by the boss',
  )
  expect(to(' ').text).toBe('Store credit of 20 EUR to ""')
  expect(to('{amount}').parts.at(-1)).toEqual({ text: '{amount}', isValue: true })
})

test('an argument of 200 fields is a value like another', () => {
  const lines = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field_${i}`, i]))
  const { parts } = summaryOf({ ...named('{lines}'), arguments: { lines } })
  expect(parts).toHaveLength(1)
  expect(parts[0]!.text).toHaveLength(80)
})

test('names of arguments and of the tool are cleaned like values', () => {
  const hostile = { ...untitled, question: { ...untitled.question!, title: 'Pay\u202e\nnow' } }
  expect(textOf({ ...hostile, arguments: { 'a\u202eb\n': 1 } })).toBe('Pay\u{fffd} now: a\u{fffd}b 1')
})

test('brief arguments are the numbers, truth values and short texts that nobody masked, and not too many', () => {
  const values = { customer: 'Ada', amount: 20, isVip: true, card: '4111', none: null, lines: [1] }
  const long = { ...values, short: 'x'.repeat(200), long: 'x'.repeat(201) }
  expect(briefArguments({ ...credit, arguments: long, masked: [['card']] })).toEqual({
    customer: 'Ada',
    amount: 20,
    isVip: true,
    short: 'x'.repeat(200),
  })
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field_${i}`, i]))
  expect(Object.keys(briefArguments({ ...credit, arguments: many }))).toHaveLength(20)
})
