/** The labels of axes, in English and in German: over any range, no two neighbours read the same. */
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'

/** The modules as a browser of this language loads them. */
async function loadIn(language: string) {
  vi.resetModules()
  vi.stubGlobal('navigator', { languages: [language] })
  return {
    ...(await import('../../web/src/parts/durations.ts')),
    ...(await import('../../web/src/screens/runs/scale.ts')),
    ...(await import('../../web/src/screens/insights/sums.ts')),
  }
}

// Test files share the modules of their worker: the next one must not find these.
afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

const distinct = (labels: readonly string[]) => {
  for (const [at, label] of labels.entries())
    if (at > 0) expect(label, labels.join(', ')).not.toBe(labels[at - 1])
}
const longest = 30 * 86_400_000
/** From 1 ms to 30 days, as many short ones as long ones. */
const length = fc
  .double({ min: 0, max: Math.log(longest), noNaN: true })
  .map((log) => Math.round(Math.exp(log)))

describe.each(['en-GB', 'de-DE'])('in %s', (language) => {
  test('the marks of a timeline differ, whole, zoomed and around folded pauses', async () => {
    const { exactText, scaleOf, ticksOf } = await loadIn(language)
    const spans = fc.array(fc.tuple(length, length), { minLength: 1, maxLength: 4 })
    const zoom = fc.tuple(
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.double({ min: 0.001, max: 1, noNaN: true }),
    )
    fc.assert(
      fc.property(spans, zoom, fc.boolean(), (drawn, [from, share], isLive) => {
        let at = Date.parse('2026-11-22T12:00:00.000Z')
        const bars = drawn.map(([pause, work]) => {
          const begin = at + pause
          at = begin + work
          return { kind: 'work' as const, from: begin, to: at, isFailed: false }
        })
        const scale = scaleOf(bars, at, isLive)
        for (const view of [
          { from: 0, to: 1 },
          { from, to: Math.min(1, from + share) },
        ])
          distinct(ticksOf(scale, view, 6).map(({ after }) => exactText(after)))
      }),
      { numRuns: 2000 },
    )
  })

  test('the times and the top of a chart differ', async () => {
    const { durationText, labelsOf, marksOf, topOf } = await loadIn(language)
    const begin = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(
        begin,
        fc.integer({ min: 1, max: 400 }),
        fc.boolean(),
        length,
        (first, count, isHours, most) => {
          const step = isHours ? 3_600_000 : 86_400_000
          const starts = Array.from({ length: isHours ? Math.min(count, 72) : count }, (_, at) =>
            new Date(first.getTime() + at * step).toISOString(),
          )
          distinct(marksOf(labelsOf(starts, isHours ? 'HOUR' : 'DAY')))
          distinct([durationText(topOf(most / 1000) * 1000), '0'])
        },
      ),
      { numRuns: 500 },
    )
    expect(marksOf(['10:00'])).toEqual(['10:00'])
    expect(labelsOf(['2026-11-22T12:00:00Z'], 'HOUR')).not.toEqual(labelsOf(['2026-11-22T12:00:00Z'], 'DAY'))
  })
})

test('a mark is written in the units that it takes, in the language of its reader', async () => {
  const marks = [1, 520, 1500, 61_000, 3_600_000, 3_600_500, 90_000_000]
  const english = await loadIn('en-GB')
  expect(marks.map(english.exactText)).toEqual([
    '1 ms',
    '520 ms',
    '1.5 s',
    '1 min 1 s',
    '1 h',
    '1 h 0.5 s',
    '1 d 1 h',
  ])
  const german = await loadIn('de-DE')
  expect(german.exactText(3_600_500)).toBe('1 h 0,5 s')
})
