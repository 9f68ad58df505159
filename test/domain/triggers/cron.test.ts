/** When schedules fire, above all where the clock is changed; and what the template of a hook makes of a body. */
import { expect, test } from 'vitest'
import {
  dueTick,
  faultOfLine,
  faultOfZone,
  ticksAfter,
  faultOfTemplate,
  fillTemplate,
} from '../../../src/domain/triggers/trigger.ts'

const at = (text: string) => new Date(text)
const ticks = (line: string, zone: string, after: string, count: number) =>
  ticksAfter(line, zone, at(after), count).map((tick) => tick.toISOString().slice(5, 16))

test('an hour that does not exist comes at the end of the gap, once', () => {
  expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual([
    '03-28T01:30',
    '03-29T01:00',
    '03-30T00:30',
  ])
  expect(ticks('15 2 * * *', 'America/New_York', '2026-03-07T12:00:00Z', 2)).toEqual([
    '03-08T07:00',
    '03-09T06:15',
  ])
  expect(ticks('30 1-3 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 4)).toEqual([
    '03-29T00:30',
    '03-29T01:00',
    '03-29T01:30',
    '03-29T23:30',
  ])
  expect(ticks('30 2,14 * * *', 'Europe/Berlin', '2026-03-28T22:00:00Z', 2)).toEqual([
    '03-29T01:00',
    '03-29T12:30',
  ])
})

test('an hour that comes twice counts once for a fixed time, and twice for every hour', () => {
  expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
    '10-25T00:30',
    '10-26T01:30',
  ])
  expect(ticks('15 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z', 2)).toEqual([
    '11-01T05:15',
    '11-02T06:15',
  ])
  for (const line of ['0 2,14 * * *', '0,30 2 * * *', '0 1-3 * * *']) {
    const local = ticksAfter(line, 'Europe/Berlin', at('2026-10-24T22:00:00Z'), 8).map((tick) =>
      tick.toLocaleString('sv', { timeZone: 'Europe/Berlin' }),
    )
    expect(new Set(local).size, line).toBe(8)
  }
  expect(ticks('0 * * * *', 'Europe/Berlin', '2026-10-24T23:10:00Z', 4)).toEqual([
    '10-25T00:00',
    '10-25T01:00',
    '10-25T02:00',
    '10-25T03:00',
  ])
})

test('a line is refused that is none, that never fires, or that fires too often', () => {
  for (const line of ['0 9 * * MON-FRI', '*/5 * * * *', '0 0 29 2 *', '0 0 L * *'])
    expect(faultOfLine(line)).toBeNull()
  for (const line of ['@daily', '* * * * * *', '0 9 * *', '', '0 9 * * *\n'])
    expect(faultOfLine(line)).toMatch(/five fields/)
  for (const line of ['61 * * * *', 'a b c d e', '*/0 * * * *'])
    expect(faultOfLine(line)).toMatch(/not a cron line/)
  expect(faultOfLine('0 0 31 2 *')).toMatch(/never fires/)
  for (const line of ['* * * * *', '*/4 * * * *', '0,1 9 * * *', '58 23 * * *', '*/7 * * * *'])
    expect([line, faultOfLine(line)]).toEqual([
      line,
      line === '58 23 * * *' ? null : 'fires more often than every 5 minutes',
    ])
  expect(faultOfZone('Europe/Berlin')).toBeNull()
  expect(faultOfZone('Mars/Olympus')).toMatch(/IANA/)
})

test('of the ticks that were missed the newest counts, and the others are told', () => {
  const due = (first: string, now: string) => dueTick('0 * * * *', 'UTC', at(first), at(now))
  expect(due('2026-03-01T10:00:00Z', '2026-03-01T10:00:00.000Z')).toEqual({
    tick: at('2026-03-01T10:00:00Z'),
    missed: 0,
    next: at('2026-03-01T11:00:00Z'),
  })
  expect(due('2026-03-01T10:00:00Z', '2026-03-01T14:59:00Z')).toEqual({
    tick: at('2026-03-01T14:00:00Z'),
    missed: 4,
    next: at('2026-03-01T15:00:00Z'),
  })
  expect(due('2026-03-01T10:00:00Z', '2027-03-01T14:59:00Z')).toMatchObject({ missed: 100 })
})

test('a template has values of the body at its paths, and names a path that leads nowhere', () => {
  const body = { order: { id: 'A-17', items: [{ n: 2 }], note: '{order.id}' }, ok: false, none: null }
  const filled = (template: string) => fillTemplate(template, body)
  expect(filled('{order.id} {order.items.0} {ok} {none}')).toEqual({ text: 'A-17 {"n":2} false null' })
  // Other braces are text, and values are not templates.
  expect(filled('call x {"id":"{order.note}"} {} { order }')).toEqual({
    text: 'call x {"id":"{order.id}"} {} { order }',
  })
  expect(fillTemplate('{.}', [1])).toEqual({ text: '[1]' })
  for (const path of ['order.nothing', 'constructor', 'order.items.1', 'order.items.length', 'ok.x'])
    expect(filled(`{${path}}`)).toEqual({ missing: path })
  expect(faultOfTemplate('{a}'.repeat(50))).toBeNull()
  expect(faultOfTemplate('{a}'.repeat(51))).toMatch(/at most 50/)
})
