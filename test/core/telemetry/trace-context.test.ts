/** Which trace contexts of callers are valid, and what is passed on of them. */
import { expect, test } from 'vitest'
import { traceContextOf } from '../../../src/core/telemetry/unit.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const valid = `00-${traceId}-${spanId}-01`

test('a valid context is kept with its state, member by member', () => {
  expect(traceContextOf({ traceparent: valid })).toEqual({ traceparent: valid })
  expect(traceContextOf({ traceparent: valid, tracestate: 'a=1, b@c=2,broken,=x' })).toEqual({
    traceparent: valid,
    tracestate: 'a=1,b@c=2',
  })
})

test('a context of a later version counts by its first four fields', () => {
  expect(traceContextOf({ traceparent: `cc-${traceId}-${spanId}-01-what` })).toEqual({ traceparent: valid })
})

test.each([
  undefined,
  7,
  '',
  [valid, valid],
  `${valid}, ${valid}`,
  `${valid}-more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-1`,
  `cc-${traceId}-${spanId}-01-${'x'.repeat(300)}`,
  `00-${traceId}-${spanId}-01\r\nx: y`,
])('%j is ignored, with its state', (traceparent) => {
  expect(traceContextOf({ traceparent, tracestate: 'a=1' })).toBeUndefined()
})

test('a state that is too long or has no valid member is left out', () => {
  for (const tracestate of [`a=${'x'.repeat(600)}`, 'broken', '', 'a=\r\nx'])
    expect(traceContextOf({ traceparent: valid, tracestate })).toEqual({ traceparent: valid })
})

test('nothing is read of what has no context', () => {
  expect(traceContextOf(undefined)).toBeUndefined()
  expect(traceContextOf({})).toBeUndefined()
})
