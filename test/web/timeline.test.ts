/** The timeline of a run without a browser: its rows and bars, its axis with folded pauses, and the text on its way. */
import { describe, expect, test } from 'vitest'
import type { DrawnStep } from '../../web/src/screens/runs/step-bars.ts'
import { isGrowing, rowsOf, spanOf, type DrawnCall, type DrawnRun } from '../../web/src/screens/runs/bars.ts'
import {
  viewOfStretch,
  foldsOf,
  placeOf,
  roundUp,
  scaleOf,
  ticksOf,
  timeAt,
  unionOf,
  whole,
} from '../../web/src/screens/runs/scale.ts'
import {
  filterOf,
  hrefOf,
  isNarrowed,
  noFilter,
  placeRuns,
  type RunFilter,
} from '../../web/src/screens/runs/rows.ts'
import { withPiece, withReset, type Writing } from '../../web/src/parts/run/writing.ts'

const start = Date.parse('2026-11-22T12:00:00.000Z')
const at = (ms: number) => new Date(start + ms).toISOString()

const call = (id: string, more: Partial<DrawnCall> = {}): DrawnCall => ({
  id,
  name: 'look',
  status: 'SUCCEEDED',
  stepIndex: 1,
  createdAt: at(1000),
  startedAt: at(1000),
  settledAt: at(1500),
  deadlineAt: null,
  approval: null,
  attempts: [{ startedAt: at(1000), endedAt: at(1500), outcome: 'SUCCEEDED' }],
  child: null,
  ...more,
})

const step = (id: string, index: number, createdAt: number, more: Partial<DrawnStep> = {}): DrawnStep => ({
  id,
  index,
  createdAt: at(createdAt),
  startedAt: null,
  firstTokenAt: null,
  failedAttempts: [],
  ...more,
})

const run = (more: Partial<DrawnRun> = {}): DrawnRun => ({
  id: 'gen_a',
  status: 'COMPLETED',
  createdAt: at(0),
  startedAt: at(200),
  finishedAt: at(3000),
  agent: { name: 'clerk' },
  steps: [step('step_1', 1, 1000), step('step_2', 2, 3000)],
  toolCalls: [call('call_1')],
  failedAttempts: [],
  ...more,
})

const closed = {
  children: new Set<string>(),
  runs: new Map<string, DrawnRun>(),
  shown: new Map<string, number>(),
}
const times = (bars: readonly { kind: string; from: number; to: number | null }[]) =>
  bars.map(({ kind, from, to }) => [kind, from - start, to === null ? null : to - start])

describe('the rows of a run', () => {
  test('are the run, its steps and their calls, each with its time', () => {
    const rows = rowsOf(run(), closed)
    expect(rows.map(({ kind, depth, name }) => [kind, depth, name])).toEqual([
      ['run', 0, 'clerk'],
      ['step', 1, 'Step 1'],
      ['call', 2, 'look'],
      ['step', 1, 'Step 2'],
    ])
    expect(rows.map(({ bars }) => times(bars))).toEqual([
      [
        ['queue', 0, 200],
        ['frame', 200, 3000],
      ],
      [['model', 200, 1000]],
      [['work', 1000, 1500]],
      // The model is asked when the calls of the step before are settled.
      [['model', 1500, 3000]],
    ])
  })

  test('a step begins with its request, behind what failed and what was waited for', () => {
    const tried = [
      { startedAt: at(1700), failedAt: at(1800) },
      { startedAt: at(2000), failedAt: at(2050) },
    ]
    const second = step('step_2', 2, 3000, {
      startedAt: at(2400),
      firstTokenAt: at(2600),
      failedAttempts: tried,
    })
    const row = rowsOf(run({ steps: [step('step_1', 1, 1000), second] }), closed).at(-1)!
    expect(times(row.bars)).toEqual([
      ['queue', 1500, 1700],
      ['model', 1700, 1800],
      ['queue', 1800, 2000],
      ['model', 2000, 2050],
      ['queue', 2050, 2400],
      ['model', 2400, 3000],
    ])
    expect(row.bars.map(({ isFailed }) => isFailed)).toEqual([false, true, false, true, false, false])
    expect(row.bars.map(({ firstAt }) => firstAt)).toEqual([...Array(5).fill(undefined), start + 2600])
  })

  test('a run that failed at a step shows what was tried, and one that tries on what it does now', () => {
    const failedAttempts = [
      { stepIndex: 1, startedAt: at(200), failedAt: at(300) },
      { stepIndex: 3, startedAt: at(3000), failedAt: at(3200) },
    ]
    const ended = rowsOf(run({ status: 'FAILED', failedAttempts }), closed).at(-1)!
    expect([ended.name, ended.id, ended.status]).toEqual(['Step 3', null, 'FAILED'])
    expect(times(ended.bars)).toEqual([['model', 3000, 3200]])
    const again = rowsOf(run({ status: 'RUNNING', finishedAt: null, failedAttempts }), closed).at(-1)!
    expect([again.status, isGrowing(again)]).toEqual(['RUNNING', true])
    expect(times(again.bars)).toEqual([
      ['model', 3000, 3200],
      ['model', 3200, null],
    ])
  })

  test('a running run without open calls has a step that the model is writing, and it grows', () => {
    const rows = rowsOf(
      run({ status: 'RUNNING', finishedAt: null, steps: [step('step_1', 1, 1000)] }),
      closed,
    )
    const last = rows.at(-1)!
    expect([last.name, last.id, isGrowing(last)]).toEqual(['Step 2', null, true])
    expect(times(last.bars)).toEqual([['model', 1500, null]])
    expect(spanOf(last, start + 2500)).toBe(1000)
  })

  test('while a call is open, no model is writing', () => {
    const open = call('call_1', { status: 'EXECUTING', settledAt: null })
    const rows = rowsOf(run({ status: 'RUNNING', finishedAt: null, toolCalls: [open] }), closed)
    expect(rows.filter(({ id, kind }) => kind === 'step' && id === null)).toEqual([])
  })

  test('a gated call shows the person and then each attempt, a failed one as failed', () => {
    const gated = call('call_1', {
      status: 'SUCCEEDED',
      approval: { createdAt: at(1000), settledAt: at(1800) },
      attempts: [
        { startedAt: at(1800), endedAt: at(2000), outcome: 'ERRORED' },
        { startedAt: at(2100), endedAt: at(2200), outcome: 'SUCCEEDED' },
      ],
      settledAt: at(2200),
    })
    const row = rowsOf(run({ toolCalls: [gated] }), closed).find(({ id }) => id === 'call_1')!
    expect(times(row.bars)).toEqual([
      ['human', 1000, 1800],
      ['work', 1800, 2000],
      ['work', 2100, 2200],
    ])
    expect(row.bars.map(({ isFailed }) => isFailed)).toEqual([false, true, false])
  })

  test('an attempt whose process stopped ends where the next one begins', () => {
    const lost = call('call_1', {
      attempts: [
        { startedAt: at(1000), endedAt: null, outcome: null },
        { startedAt: at(1400), endedAt: at(1500), outcome: 'SUCCEEDED' },
      ],
    })
    const row = rowsOf(run({ toolCalls: [lost] }), closed).find(({ id }) => id === 'call_1')!
    expect(times(row.bars)).toEqual([
      ['work', 1000, 1400],
      ['work', 1400, 1500],
    ])
  })

  test('a client call is waited for from the approval on, until its output', () => {
    const asked = call('call_1', {
      status: 'AWAITING_CLIENT',
      deadlineAt: at(60_000),
      startedAt: null,
      settledAt: null,
      attempts: [],
      approval: { createdAt: at(1000), settledAt: at(1800) },
    })
    const row = rowsOf(run({ toolCalls: [asked] }), closed).find(({ id }) => id === 'call_1')!
    expect(times(row.bars)).toEqual([
      ['human', 1000, 1800],
      ['client', 1800, null],
    ])
  })

  test('a child run opens below its call, 20 rows at a time', () => {
    const steps = Array.from({ length: 30 }, (_, i) => step(`step_c${i}`, i + 1, 1000 + i))
    const child = run({ id: 'gen_c', steps, toolCalls: [] })
    const calling = call('call_1', { child: { id: 'gen_c', status: 'COMPLETED', agent: null } })
    const top = run({ toolCalls: [calling] })
    const isClosed = rowsOf(top, closed)
    expect(isClosed).toHaveLength(4)
    expect(times(isClosed[2]!.bars)).toEqual([['child', 1000, 1500]])
    const children = new Set(['gen_c'])
    expect(rowsOf(top, { ...closed, children }).map(({ kind }) => kind)).toContain('reading')
    const opened = { children, runs: new Map([['gen_c', child]]), shown: new Map<string, number>() }
    const rows = rowsOf(top, opened)
    expect(rows.filter(({ depth }) => depth === 3)).toHaveLength(21)
    expect(rows.find(({ kind }) => kind === 'more')?.more).toEqual({ runId: 'gen_c', left: 10 })
    expect(times(rows[2]!.bars)).toEqual([['frame', 1000, 1500]])
    const all = rowsOf(top, { ...opened, shown: new Map([['gen_c', 40]]) })
    expect(all.some(({ kind }) => kind === 'more')).toBe(false)
  })

  test('a run of eight times as many steps takes no more than in proportion to be laid out', () => {
    const layOut = (count: number) => {
      const steps = Array.from({ length: count }, (_, i) => step(`step_${i}`, i + 1, i * 10))
      const toolCalls = steps.map(({ index }) => call(`call_${index}`, { stepIndex: index }))
      const before = process.cpuUsage()
      const rows = rowsOf(run({ steps, toolCalls }), { ...closed, shown: new Map([['gen_a', 50_000]]) })
      scaleOf(
        rows.flatMap(({ bars }) => bars),
        start + 500_000,
        false,
      )
      const { user } = process.cpuUsage(before)
      expect(rows).toHaveLength(2 * count + 1)
      return user
    }
    // The best of five, without what the engine compiles meanwhile. In proportion to the square it would be 64.
    const best = (count: number) => Math.min(...Array.from({ length: 5 }, () => layOut(count)))
    best(1000)
    expect(best(8000) / best(1000)).toBeLessThan(30)
  })
})

const bar = (kind: 'model' | 'work' | 'human' | 'frame', from: number, to: number | null) => ({
  kind,
  from: start + from,
  to: to === null ? null : start + to,
  isFailed: false,
})

describe('the axis', () => {
  test('joins stretches that touch', () => {
    expect(
      unionOf([
        { from: 5, to: 7 },
        { from: 1, to: 3 },
        { from: 2, to: 5 },
      ]),
    ).toEqual([{ from: 1, to: 7 }])
  })

  test('folds a pause that is longer than a third of all activity, and no shorter one', () => {
    const bars = [bar('model', 0, 3000), bar('human', 3000, 60_000), bar('work', 60_000, 63_000)]
    const span = { from: start, to: start + 63_000 }
    expect(foldsOf(bars, span, 0)).toEqual([{ from: start + 3000, to: start + 60_000 }])
    const short = [bar('model', 0, 3000), bar('human', 3000, 4900), bar('work', 4900, 7900)]
    expect(foldsOf(short, { from: start, to: start + 7900 }, 0)).toEqual([])
  })

  test('a pause of less than a second is never folded, and a frame is no activity', () => {
    const bars = [bar('frame', 0, 100_000), bar('model', 0, 10), bar('work', 900, 910)]
    expect(foldsOf(bars, { from: start, to: start + 910 }, 0)).toEqual([])
    expect(foldsOf(bars, { from: start, to: start + 100_000 }, 0)).toHaveLength(1)
  })

  test('places moments in order, from 0 to 1, and finds them again', () => {
    const bars = [bar('model', 0, 3000), bar('human', 3000, 60_000), bar('work', 60_000, 63_000)]
    const scale = scaleOf(bars, 0, false)
    const places = [0, 1500, 3000, 60_000, 61_500, 63_000].map((ms) => placeOf(scale, start + ms))
    expect(places[0]).toBe(0)
    expect(places.at(-1)).toBeCloseTo(1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    // Both activities are drawn at the same measure, and the hour between them is a narrow gap.
    expect(places[2]! - places[0]!).toBeCloseTo(places[5]! - places[3]!)
    expect(places[3]! - places[2]!).toBeCloseTo(0.07)
    expect(timeAt(scale, places[1]!)).toBeCloseTo(start + 1500, -1)
  })

  test('of a living run stands still for a while, and its gap does while it waits', () => {
    const working = [bar('model', 0, null)]
    expect(scaleOf(working, start + 11_000, true)).toEqual(scaleOf(working, start + 14_000, true))
    const waiting = [bar('model', 0, 1000), bar('human', 1000, null)]
    expect(scaleOf(waiting, start + 61_000, true)).toEqual(scaleOf(waiting, start + 70_000, true))
    expect(scaleOf(waiting, start + 61_000, true).segments.map(({ isFolded }) => isFolded)).toEqual([
      false,
      true,
    ])
  })

  test('a run that has just been asked for has an axis', () => {
    const scale = scaleOf([], start, true)
    expect(placeOf(scale, start)).toBe(0)
    expect(ticksOf(scale, whole, 6).length).toBeGreaterThan(0)
  })

  test('round lengths are at most half as long again', () => {
    for (const length of [1, 7, 11, 99, 1234, 86_400_000]) {
      expect(roundUp(length)).toBeGreaterThanOrEqual(length)
      expect(roundUp(length) / length).toBeLessThan(1.7)
    }
  })

  test('ticks are round, in the view, out of gaps and apart', () => {
    const bars = [bar('model', 0, 3000), bar('human', 3000, 60_000), bar('work', 60_000, 63_000)]
    const scale = scaleOf(bars, 0, false)
    const ticks = ticksOf(scale, whole, 6)
    expect(ticks.map(({ after }) => after)).toEqual([0, 1000, 2000, 3000, 61_000, 62_000, 63_000])
    for (const [i, { x }] of ticks.entries()) if (i > 0) expect(x - ticks[i - 1]!.x).toBeGreaterThan(0.06)
    const zoomed = ticksOf(scale, { from: 0, to: 0.2 }, 6)
    for (const { x } of zoomed) expect(x >= 0 && x <= 1).toBe(true)
  })

  test('ten days at a measure of milliseconds have few ticks, and the others are not made', () => {
    const scale = scaleOf([bar('work', 0, 864_000_000)], 0, false)
    expect(ticksOf(scale, { from: 0.5, to: 0.501 }, 6).length).toBeLessThanOrEqual(12)
  })

  test('a brush zooms into the view, from either side, and a click does not', () => {
    const view = viewOfStretch(whole, 0.75, 0.25)
    expect(view).toEqual({ from: 0.25, to: 0.75 })
    expect(viewOfStretch(view, 0, 0.5)).toEqual({ from: 0.25, to: 0.5 })
    expect(viewOfStretch(view, 0.4, 0.4)).toBe(view)
  })
})

describe('the text on its way', () => {
  const piece = (offset: number, text: string, attempt = 1, stepIndex = 1) => ({
    stepIndex,
    attempt,
    offset,
    text,
  })
  const told = (pieces: ReturnType<typeof piece>[]) => pieces.reduce<Writing | null>(withPiece, null)

  test('is put together, and repeated or overlapping pieces are not doubled', () => {
    expect(told([piece(0, 'one '), piece(4, 'two '), piece(4, 'two '), piece(6, 'o three')])).toMatchObject({
      text: 'one two three',
      isPart: false,
    })
  })

  test('says that it is a part when this page came late or missed a piece', () => {
    expect(told([piece(8, 'three')])).toMatchObject({ text: 'three', isPart: true })
    expect(told([piece(0, 'one'), piece(8, 'three')])).toMatchObject({ text: 'one … three', isPart: true })
  })

  test('begins anew with another attempt or step, and late pieces of the old one are dropped', () => {
    const first = told([piece(0, 'lost')])
    const reset = withReset(first, { stepIndex: 1, attempt: 2 })
    expect(reset).toMatchObject({ text: '', attempt: 2 })
    expect(withPiece(reset, piece(4, ' more'))).toBe(reset)
    expect(withPiece(reset, piece(0, 'again', 2))).toMatchObject({ text: 'again', isPart: false })
    expect(withPiece(reset, piece(0, 'next', 1, 2))).toMatchObject({ text: 'next', stepIndex: 2 })
    expect(withReset(reset, { stepIndex: 1, attempt: 2 })).toBe(reset)
  })
})

describe('the list of runs', () => {
  test('shows the newest first, and newer ones wait while it is held', () => {
    expect(placeRuns([], ['c', 'b'], true)).toEqual({ ids: ['c', 'b'], waiting: 0 })
    expect(placeRuns(['b', 'a'], ['d', 'c', 'b', 'a'], true)).toEqual({ ids: ['b', 'a'], waiting: 2 })
    expect(placeRuns(['b', 'a'], ['d', 'c', 'b', 'a'], false)).toEqual({
      ids: ['d', 'c', 'b', 'a'],
      waiting: 0,
    })
  })

  test('lets rows go that the filter does not find any more, and is free when all have gone', () => {
    expect(placeRuns(['c', 'b', 'a'], ['d', 'b', 'a'], true)).toEqual({ ids: ['b', 'a'], waiting: 1 })
    expect(placeRuns(['a'], ['d', 'c'], true)).toEqual({ ids: ['d', 'c'], waiting: 0 })
  })

  test('has its filter in the address, and no other status than those there are', () => {
    const filter: RunFilter = {
      statuses: ['RUNNING', 'FAILED'],
      text: 'clerk & co',
      agentId: 'agt_1',
      requestedBy: 'key_1',
      failedToolId: 'tool_1',
      threadId: null,
      range: { since: null, from: at(0), to: at(60_000) },
      bounds: { minDurationSeconds: 300, maxDurationSeconds: null, minCost: 0, maxCost: 0.25 },
      by: 'agent',
    }
    expect(filterOf(hrefOf(filter).replace('/runs', ''))).toEqual(filter)
    expect(filterOf('?status=nonsense&from=nonsense&since=1y&minCost=-1&maxCost=1e3')).toEqual(noFilter)
    expect(filterOf('?minDurationSeconds=1.5&maxDurationSeconds=')).toEqual(noFilter)
    expect(hrefOf(noFilter)).toBe('/runs')
    // Groups narrow nothing, so that nobody cancels all runs by way of them.
    expect([isNarrowed({ ...noFilter, by: 'agent' }), isNarrowed(filter)]).toEqual([false, true])
    expect(hrefOf({ ...noFilter, range: { since: '7d', from: null, to: null } })).toBe('/runs?since=7d')
  })
})
