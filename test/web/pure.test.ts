/** The parts of the dashboard that need no browser: order of the inbox, edits, differences, marked text, moments. */
import { readdirSync, readFileSync } from 'node:fs'
import { renderToStaticMarkup } from 'react-dom/server'
import { createElement } from 'react'
import { describe, expect, test } from 'vitest'
import { changesBetween } from '../../web/src/parts/diff.ts'
import { agoText, durationText } from '../../web/src/parts/durations.ts'
import { beginningOf } from '../../web/src/parts/deceptive.ts'
import { JsonPieces, LongText, markDeception } from '../../web/src/parts/text.tsx'
import { ArgumentSheet } from '../../web/src/parts/question/argument-sheet.tsx'
import { readOutput } from '../../web/src/parts/output-field.tsx'
import { draftOf, inputOf, newPolicy } from '../../web/src/parts/gate-draft.ts'
import { valueFrom } from '../../web/src/parts/gate-properties.ts'
import { objectFrom } from '../../web/src/screens/tools/tool-config.ts'
import { createInputOf, newDraft } from '../../web/src/screens/agents/agent-draft.ts'
import type { Issue } from '../../web/src/api/outcome.ts'
import { isWhole, readMs, readSpan, withSpan } from '../../web/src/parts/use-seen.ts'
import { totalsOf } from '../../web/src/screens/inbox/totals.ts'
import { editable, readEdit } from '../../web/src/parts/question/edit.ts'
import { allOrNone, mostAtOnce, nextRow, placeRows } from '../../web/src/screens/inbox/rows.ts'
import type { PendingRow } from '../../web/src/screens/inbox/pending.ts'
import {
  itemsOf,
  numberNames,
  repeatedNames,
  rowsOf,
  viewOf,
} from '../../web/src/screens/inbox/waiting-view.ts'
import { actions } from '../../src/domain/access/permission/policy.ts'
import { maxBatch } from '../../src/domain/approvals/decide.ts'
import { browserName } from '../../web/src/screens/people/browser-name.ts'

const row = (id: string, second: number, args: object = {}, toolName = 'pay') =>
  ({
    id,
    toolName,
    arguments: args,
    createdAt: new Date(second * -1000).toISOString(),
    expiresAt: new Date(second * 1000).toISOString(),
    summary: { parts: [{ text: `${toolName} ${id}`, isValue: false }] },
    agent: null,
    requester: { id: 'key_a', name: 'Ann' },
    tool: { id: `tool_${toolName}` },
  }) as unknown as PendingRow

describe('the order of the inbox', () => {
  const ordered = (rows: PendingRow[], query = '', found: string[] | null = null) => {
    const all = new Map(rows.map((one) => [one.id, one]))
    return rowsOf(all, viewOf(new URLSearchParams(query)), found && new Set(found)).map(({ id }) => id)
  }

  test('is by deadline, and by id where deadlines are equal; or the newest first, or by a number', () => {
    const rows = [row('c', 9, { n: 2 }), row('b', 5), row('a', 9, { n: 10 })]
    expect(ordered(rows)).toEqual(['b', 'a', 'c'])
    expect(ordered(rows, 'sort=newest')).toEqual(['b', 'a', 'c'])
    expect(ordered(rows, 'sort=most:n')).toEqual(['a', 'c', 'b'])
    expect(ordered(rows, 'sort=least:n')).toEqual(['c', 'a', 'b'])
  })

  test('has what the filter of the address and the search leave', () => {
    const rows = [row('a', 1), row('b', 2, {}, 'mail'), row('c', 3)]
    expect(ordered(rows, 'tool=pay')).toEqual(['a', 'c'])
    expect(ordered(rows, 'tool=tool_mail')).toEqual(['b'])
    expect(ordered(rows, 'agent=none&requester=key_a', ['c', 'b'])).toEqual(['b', 'c'])
    expect(ordered(rows, 'requester=key_b')).toEqual([])
  })

  test('groups stand where their first row does; one row is no group, and only open ones show their rows', () => {
    const moved = { reason: 'moved' }
    const rows = [row('a', 1, moved), row('b', 2), row('c', 3, moved), row('d', 4, moved, 'mail')]
    const keys = (by: string, isOpen: boolean) => itemsOf(rows, by, () => isOpen).map(({ key }) => key)
    expect(keys('value:reason', false)).toEqual(['value:reason pay moved', 'b', 'd'])
    expect(keys('value:reason', true)).toEqual(['value:reason pay moved', 'a', 'c', 'b', 'd'])
    expect(keys('tool', false)).toEqual(['tool pay', 'd'])
    expect(repeatedNames(rows)).toEqual(['reason'])
    expect(numberNames([row('a', 1, { n: 1, s: 'x' }), row('b', 1, { m: 2 })])).toEqual(['n', 'm'])
    expect(numberNames([row('a', 1, { n: 1 }), row('b', 1, { n: 1 }, 'mail')])).toEqual([])
  })

  test('a new row joins behind all, and one that would push others waits while something is chosen', () => {
    const rows = [row('a', 1), row('d', 3), row('b', 5), row('c', 9)]
    expect(placeRows(['a', 'b'], rows, 'b', true)).toEqual({ ids: ['a', 'b', 'c'], waiting: 1 })
    expect(placeRows(['a', 'b'], rows, 'b', false)).toEqual({ ids: ['a', 'd', 'b', 'c'], waiting: 0 })
  })

  test('a row that has gone leaves, but for the chosen one, which keeps its place', () => {
    expect(placeRows(['a', 'b', 'c'], [row('c', 9)], 'b', true)).toEqual({ ids: ['b', 'c'], waiting: 0 })
    expect(placeRows(['a', 'b', 'c'], [row('a', 1), row('c', 9)], 'b', false).ids).toEqual(['a', 'b', 'c'])
  })

  test('all are marked, or none when they all were; others stay as they are', () => {
    expect(mostAtOnce).toBe(maxBatch)
    const all = allOrNone(['a', 'b'], new Set(['b', 'z']))
    expect([...all].toSorted()).toEqual(['a', 'b', 'z'])
    expect([...allOrNone(['a', 'b'], all)]).toEqual(['z'])
  })

  test('behind a verdict comes the next open row, else the one before', () => {
    const open = (id: string) => id !== 'c'
    expect(nextRow(['a', 'b', 'c', 'd'], 'b', open)).toBe('d')
    expect(nextRow(['a', 'b', 'c'], 'b', open)).toBe('a')
    expect(nextRow(['b'], 'b', () => false)).toBeNull()
  })
})

describe('an edit', () => {
  const question = {
    arguments: { note: 'x', amount: 5, account: 'preset' },
    tool: { presetParameters: { account: 'preset' } },
  } as never

  test('shows the arguments in their order and without presets', () => {
    expect(JSON.stringify(editable(question))).toBe('{"note":"x","amount":5}')
  })

  test('is none when the value is the same, broken when it is no object, else a list of changes', () => {
    const before = editable(question)
    expect(readEdit(before, { value: { note: 'x', amount: 5 }, fault: null })).toEqual({ state: 'same' })
    expect(readEdit(before, { value: before, fault: 'Unexpected end of JSON input' })).toMatchObject({
      state: 'broken',
    })
    expect(readEdit(before, { value: [1], fault: null })).toMatchObject({ state: 'broken' })
    expect(readEdit(before, { value: { amount: 4, note: 'x' }, fault: null })).toMatchObject({
      state: 'changed',
      changes: [{ path: 'amount', before: 5, after: 4 }],
    })
  })
})

test('differences name the place, in objects and lists', () => {
  expect(changesBetween({ a: { b: [1, 2] }, c: 1 }, { a: { b: [1, 3, 4] } })).toEqual([
    { path: 'a.b[1]', before: 2, after: 3 },
    { path: 'a.b[2]', before: undefined, after: 4 },
    { path: 'c', before: 1, after: undefined },
  ])
  expect(changesBetween(Array(500).fill(0), Array(500).fill(1))).toHaveLength(500)
})

describe('foreign text', () => {
  const html = (text: string) => renderToStaticMarkup(createElement('p', null, markDeception(text)))

  test('stays text', () => {
    expect(html('<img src=x onerror=alert(1)>')).toBe('<p>&lt;img src=x onerror=alert(1)&gt;</p>')
  })

  test('shows what would turn it round or hide in it', () => {
    expect(html('pay \u202Eevil')).toContain('U+202E')
    expect(html('a\u200Bb')).toContain('U+200B')
    expect(html('a\nb\tc')).toBe('<p>a\nb\tc</p>')
  })

  test('marks nothing that belongs to its script or emoji', () => {
    for (const text of ['👨‍👩‍👧‍👦 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽', 'می‌خواهم', 'क्‍ष', '5 μm', 'Привет', 'Ωmega und Größe'])
      expect(html(text), text).toBe(`<p>${text}</p>`)
  })

  test('marks what deceives in Latin text: joiners, fillers, and letters of other alphabets', () => {
    for (const text of ['pa\u200dy', 'pa\u200cy', 'x\ufe0fy', 'a\u3164b', 'a\u{e0041}b', 'a\u2800b'])
      expect(html(text), JSON.stringify(text)).toContain('U+')
    expect(html('to p\u0430ypal now')).toMatch(
      /^<p>to <span>p\u0430ypal<span class="mark"[^>]*>mixed letters</,
    )
    expect(html('\u039fmar')).toContain('mixed letters')
  })

  test('is cut between whole characters', () => {
    expect(beginningOf('ab👨‍👩‍👧‍👦', 6)).toBe('ab')
    expect(beginningOf('abc', 3)).toBe('abc')
    expect(beginningOf(`${'x'.repeat(500)}😀`, 501)).toBe('x'.repeat(500))
  })

  test('of 200 kB in one word is read at once: each pair of characters would take longer than a test has', () => {
    expect(html(`${'a'.repeat(100_000)}\u0430${'é'.repeat(100_000)}`)).toContain('mixed letters')
  })

  test('as JSON each string runs in its own direction, from left to right', () => {
    const json = renderToStaticMarkup(createElement(JsonPieces, { text: '{"a": "אב"}' }))
    expect(json).toBe('<span dir="ltr">{<bdi>&quot;a&quot;</bdi>: <bdi>&quot;אב&quot;</bdi>}</span>')
  })

  test('a million marks are not a million elements', () => {
    expect(html('\u200B'.repeat(100_000)).split('<span').length).toBeLessThan(502)
  })

  test('of many lines is folded', () => {
    const folded = renderToStaticMarkup(createElement(LongText, { text: 'line\n'.repeat(50) }))
    expect(folded.split('line').length - 1).toBe(20)
    expect(folded).toContain('Show all')
  })
})

test('a name that every object has is a difference like any other', () => {
  expect(changesBetween({}, { constructor: 'McLaren' })).toEqual([
    { path: 'constructor', before: undefined, after: 'McLaren' },
  ])
})

test('two arguments whose long names differ at their end do not look the same', () => {
  const names = ['a', 'b'].map((end) => 'x'.repeat(150) + end)
  const values = Object.fromEntries(names.map((name) => [name, 1]))
  const sheet = { names, values, schema: null, seen: new Set<string>(), refOf: () => () => {} }
  const html = renderToStaticMarkup(createElement(ArgumentSheet, sheet))
  for (const name of names) expect(html).toContain(`${name}<`)
})

describe('a number that would be sent as another one', () => {
  test.each(['1e400', '7'.repeat(401)])('%s is a fault wherever JSON is written', (text) => {
    expect(readOutput({ isJson: true, text })).toHaveProperty('broken')
    const json = `{"const": ${text}}`
    const issues: Issue[] = []
    expect(objectFrom(json, [], issues)).toBeNull()
    expect(issues).toHaveLength(1)
    expect(createInputOf({ ...newDraft, name: 'a', outputSchema: json })).toHaveProperty('issues')
    const when = { as: 'json', text: json } as const
    expect(inputOf({ ...draftOf(newPolicy), mode: 'WHEN', when })).toHaveProperty('faults')
    expect(valueFrom(text, 'other')).toBeUndefined()
  })
})

test('an element was seen when what was seen of it adds up to all of it', () => {
  const seen = (...spans: [number, number][]) =>
    isWhole(
      spans.reduce<readonly (readonly [number, number])[]>((all, one) => withSpan(all, one), []),
      900,
    )
  expect(seen([0, 900])).toBe(true)
  expect(seen([0, 400], [380, 900])).toBe(true)
  expect(seen([500, 900], [0, 300], [299, 501])).toBe(true)
  // From the beginning to the end in one jump.
  expect(seen([0, 400], [500, 900])).toBe(false)
  expect(seen([100, 900])).toBe(false)
  expect(seen()).toBe(false)
})

test('what stood still for half a second was read, in every place that it had meanwhile', () => {
  const at = (since: number, from: number, to: number) => ({ since, span: [from, to] as const })
  expect(readSpan([at(0, 0, 400)], readMs - 1).span).toBeNull()
  expect(readSpan([at(0, 0, 400)], readMs).span).toEqual([0, 400])
  // A slow hand has read what it never left; a fast one nothing.
  expect(readSpan([at(0, 0, 400), at(300, 200, 600)], readMs).span).toEqual([200, 400])
  expect(readSpan([at(0, 0, 400), at(300, 500, 900)], readMs).span).toBeNull()
  expect(readSpan([at(0, 0, 400), at(300, 500, 900)], 300 + readMs)).toEqual({
    span: [500, 900],
    history: [at(300, 500, 900)],
  })
})

test('a batch adds up the numbers that all calls of a tool have', () => {
  const call = (toolName: string, args: object) => ({ toolName, arguments: args as Record<string, unknown> })
  expect(
    totalsOf([
      call('pay', { amount: 0.1, to: 'a', fee: 1 }),
      call('pay', { amount: 0.2, to: 'b', fee: '1' }),
      call('mail', { count: 5 }),
    ]),
  ).toEqual([{ toolName: 'pay', count: 2, sums: [{ name: 'amount', sum: 0.3 }] }])
})

test('durations and ages have one or two units', () => {
  expect([0, 950, 1_500, 61_000, 3_700_000, 90_000_000].map(durationText)).toEqual([
    '0 ms',
    '950 ms',
    '1.5 s',
    '1 min 1 s',
    '1 h 1 min',
    '1 d 1 h',
  ])
  const now = Date.parse('2026-11-22T12:00:00Z')
  expect([1, 30, 90, 7_300, 90_000].map((s) => agoText(now - s * 1000, now))).toEqual([
    'just now',
    '30 s ago',
    '1 min ago',
    '2 h ago',
    '1 d ago',
  ])
})

test.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
    'Chrome 156 on Linux',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
    'Edge 140 on Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Safari 18 on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari 18 on iOS',
  ],
  ['Mozilla/5.0 (Android 15; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0', 'Firefox 133 on Android'],
  ['curl/8.5.0', 'curl/8.5.0'],
])('the browser that calls itself %s is %s', (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name)
})

test('every permission that the page asks for is one of the server', () => {
  const src = new URL('../../web/src/', import.meta.url)
  const asked = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => [
      ...readFileSync(new URL(name, src), 'utf8').matchAll(/['"]([a-z][a-zA-Z]+:[A-Z][a-zA-Z]+)['"]/g),
    ])
    .map(([, action]) => action!)
  expect(asked.length).toBeGreaterThan(80)
  expect(asked.filter((action) => !(actions as readonly string[]).includes(action))).toEqual([])
})
