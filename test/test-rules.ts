/** Rules for the tests. Data only: house.test.ts applies them, each to a planted violation first. */
import type { Rule } from './structure-rules.ts'

export const testRules: readonly Rule[] = [
  {
    name: 'random numbers of tests come from support/random.ts, so that the printed seed repeats them',
    violations: (sources) =>
      sources
        .filter(({ path, text }) => path !== 'support/random.ts' && /\bMath\.random\b/.test(text))
        .map(({ path }) => path),
    planted: {
      sources: [
        { path: 'chaos/storm.test.ts', text: `await pause(${['Math', 'random()'].join('.')} * 50)` },
        { path: 'chaos/calm.test.ts', text: 'const random = randomSchedule()' },
      ],
      found: ['chaos/storm.test.ts'],
    },
  },
]
