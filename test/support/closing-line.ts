/** Ends a test run with the files that took longest, and one plain line: how many passed and how many failed. */
import type { Reporter, TestModule } from 'vitest/node'

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      if (!module.ok() && [...module.children.allTests()].length === 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed' || state === 'failed' || state === 'skipped') counts[state]++
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    process.stdout.write(longestOf(modules))
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
  }
}

const most = 20

function longestOf(modules: readonly TestModule[]): string {
  const files = modules
    .map((module) => ({ name: module.relativeModuleId, ms: module.diagnostic().duration }))
    .toSorted((a, b) => b.ms - a.ms)
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
  const sum = seconds(files.reduce((all, { ms }) => all + ms, 0))
  const lines = files.slice(0, most).map(({ name, ms }) => `  ${seconds(ms).padStart(6)}  ${name}`)
  return `\nThe tests took ${sum} in all; the longest files:\n${lines.join('\n')}\n`
}
