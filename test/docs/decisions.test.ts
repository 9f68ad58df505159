/** Decisions have one form: a number, a status, a date, what it was about, what was decided, and what that cost. */
import { expect, test } from 'vitest'
import { filesBelow, read } from './documents.ts'

const decisions = filesBelow('docs/decisions', '.md').filter((path) => !path.endsWith('README.md'))
const index = read('docs/decisions/README.md')
const nameOf = (path: string) => path.split('/').at(-1)!

test('decisions are numbered without a gap', () => {
  expect(decisions.length).toBeGreaterThan(20)
  expect(decisions.map((path) => Number(nameOf(path).slice(0, 4)))).toEqual(decisions.map((_, i) => i + 1))
})

test.each(decisions)('%s has its five parts in order, none empty, in at most 40 lines', (path) => {
  const text = read(path)
  const parts =
    /^# (\d+)\. .+\n\n- Status: (?:accepted|superseded|withdrawn).*\n- Date: \d{4}-\d\d-\d\d\n\n## Context\n\n([\s\S]+?)\n\n## Decision\n\n([\s\S]+?)\n\n## What we gave up\n\n([\s\S]+)\n$/
  const found = parts.exec(text)
  expect(found, 'status, date, context, decision, what we gave up').not.toBeNull()
  expect(Number(found![1])).toBe(Number(nameOf(path).slice(0, 4)))
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
  expect(text.match(/^## /gm)).toHaveLength(3)
})

test('the index names each decision once, by its own title, grouped by subject', () => {
  const lines = [...index.matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| (.+?) \| (\S+) \| (\S+) \|$/gm)]
  expect(lines.map((match) => match[2]).toSorted()).toEqual(decisions.map(nameOf))
  for (const [, number, file, title, status, date] of lines) {
    const text = read(`docs/decisions/${file}`)
    expect(text.split('\n')[0]).toBe(`# ${number}. ${title}`)
    expect(text).toMatch(new RegExp(`^- Status: ${status}`, 'm'))
    expect(text).toContain(`- Date: ${date}\n`)
  }
})
