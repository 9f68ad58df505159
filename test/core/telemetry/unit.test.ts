/** Units of work where no SDK of OpenTelemetry is loaded. */
import { expect, test } from 'vitest'
import { beginUnit, type DurationLabels, type Meters } from '../../../src/core/telemetry/unit.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const other = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const silent: Meters = { duration: () => {}, tokens: () => {} }

test('passes on its parent, else its link, and nothing else that a row has beside it', () => {
  const stored = { traceparent, tracestate: 'a=1', activation: 2, at: 1 }
  const begin = (options: object) =>
    beginUnit(silent, 'tool', { name: 'x', attributes: {}, ...options }).trace
  expect(begin({})).toBeUndefined()
  expect(begin({ parent: { traceparent: other }, links: [stored] })).toEqual({ traceparent: other })
  expect(begin({ links: [undefined, stored] })).toEqual({ traceparent, tracestate: 'a=1' })
  expect(begin({ parent: stored })).toEqual({ traceparent, tracestate: 'a=1' })
})

test('its duration is counted once, whoever ends it again', () => {
  const counted: DurationLabels[] = []
  const meters = {
    ...silent,
    duration: (_unit: string, _s: number, labels: DurationLabels) => counted.push(labels),
  }
  const unit = beginUnit(meters as Meters, 'agent', { attributes: {} })
  expect(unit.isRecording).toBe(false)
  unit.end({ outcome: 'completed' })
  unit.end({ outcome: 'interrupted' })
  expect(counted).toEqual([{ outcome: 'completed' }])
})
