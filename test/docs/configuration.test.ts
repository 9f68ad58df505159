/** docs/guides/configuration.md and the sources of the configuration name the same variables, with the same defaults. */
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { read } from './documents.ts'

const guide = read('docs/guides/configuration.md')
const source = ['', '-environment', '-mail', '-oidc-s3'].map((part) => read(`src/config${part}.ts`)).join('')

/** The rows of all tables: a variable and its default. */
const rows = [...guide.matchAll(/^\| `([A-Z][A-Z0-9_]*)` \| ([^|]*) \| ([^|]*) \|$/gm)].map((match) => ({
  name: match[1]!,
  fallback: match[2]!.replaceAll('`', '').trim(),
  meaning: match[3]!.trim(),
}))
const documented = rows.map((row) => row.name)
/** Everything in the source that is spelt like a variable of the environment. */
const known = new Set(
  source.match(
    /\b(?:GATEHOUSE_[A-Z0-9_]+[A-Z]|AWS_[A-Z_]+[A-Z]|[A-Z]+(?:_[A-Z]+)*_URL|[A-Z_]+_API_KEY|NODE_ENV)\b/g,
  ),
)

test('every variable that the configuration reads has one row, and no row is of another', () => {
  expect(known.size).toBeGreaterThan(50)
  expect([...documented].toSorted()).toEqual([...known].toSorted())
})

test('every row says what the variable is for', () => {
  expect(rows.filter((row) => row.meaning === '').map((row) => row.name)).toEqual([])
})

test('numbers in the guide are the defaults that an empty environment gives', () => {
  const config = loadConfig({}) as unknown as Record<string, unknown>
  const numbers = rows.filter((row) => /^\d+$/.test(row.fallback))
  expect(numbers.length).toBeGreaterThan(15)
  for (const { name, fallback } of numbers) {
    const field = name
      .replace('GATEHOUSE_', '')
      .toLowerCase()
      .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    expect(config[field], name).toBe(Number(fallback))
  }
})
