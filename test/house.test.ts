/** The structure test: layers, modules, entry points and writers of src. Each rule is tried on a planted violation first. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable, pgTable, text as textColumn } from 'drizzle-orm/pg-core'
import { eventKinds, type EventType } from '../src/domain/events/index.ts'
import { tableTraits } from '../src/store/db/tables/all-traits.ts'
import { traitsOf, type TableTraits } from '../src/store/db/tables/traits.ts'
import { edgesOf, layerOf, layers, moduleOf, rules, type Source } from './structure-rules.ts'
import { participleRule } from './file-rules.ts'
import { clientRules } from './client-rules.ts'
import { testRules } from './test-rules.ts'
import { webRules } from './web-rules.ts'

/** Files that may break the rules: a path below src, and the reason. */
const exceptions: { path: string; reason: string }[] = [
  {
    path: 'store/db/postgres/address.ts',
    reason: "libpq's variables belong to an address, as for every client of PostgreSQL",
  },
]

const root = join(import.meta.dirname, '..')
const sources: Source[] = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, 'src', path), 'utf8') }))
const paths = sources.map(({ path }) => path)

test('src has files in every layer and its imports are found, so that no rule passes on nothing', () => {
  const edges = edgesOf(sources)
  expect(paths.length).toBeGreaterThan(80)
  expect(edges.length).toBeGreaterThan(200)
  expect(new Set(paths.map(layerOf))).toEqual(new Set(layers))
  expect(new Set(paths.map(moduleOf)).size).toBeGreaterThan(10)
  for (const { to } of edges) expect(paths, to).toContain(to)
})

test.each(rules)('finds a planted violation of: $name', ({ violations, planted }) => {
  expect(violations(planted.sources)).toEqual(planted.found)
})

test.each(rules)('$name', ({ violations }) => {
  const excepted = (violation: string) => exceptions.some(({ path }) => violation.startsWith(path))
  expect(violations(sources).filter((violation) => !excepted(violation))).toEqual([])
})

test('every exception names a file and a reason', () => {
  for (const { path, reason } of exceptions) {
    expect(paths).toContain(path)
    expect(reason).not.toBe('')
  }
})

/** The dashboard, which speaks only GraphQL and /session. */
const web: Source[] = readdirSync(join(root, 'web/src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?<!\.d)\.tsx?$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, 'web/src', path), 'utf8') }))

test.each(webRules)('finds a planted violation in web of: $name', ({ violations, planted }) => {
  expect(violations(planted.sources)).toEqual(planted.found)
})

test.each(webRules)('web: $name', ({ violations }) => {
  expect(web.length).toBeGreaterThan(20)
  expect(violations(web)).toEqual([])
})

test(`web: ${participleRule.name}`, () => {
  expect(participleRule.violations(web)).toEqual([])
})

/** The client and the command line. */
const programs: Source[] = ['client', 'cli'].flatMap((part) =>
  readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path: `${part}/${path}`, text: readFileSync(join(root, part, path), 'utf8') })),
)

test.each(clientRules)('finds a planted violation of: $name', ({ violations, planted }) => {
  expect(violations(planted.sources)).toEqual(planted.found)
})

test.each(clientRules)('$name', ({ violations }) => {
  expect(programs.length).toBeGreaterThan(20)
  expect(violations(programs)).toEqual([])
})

const tests: Source[] = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, 'test', path), 'utf8') }))

test.each(testRules)('finds a planted violation in tests of: $name', ({ violations, planted }) => {
  expect(violations(planted.sources)).toEqual(planted.found)
})

test.each(testRules)('$name', ({ violations }) => {
  expect(tests.length).toBeGreaterThan(200)
  expect(violations(tests)).toEqual([])
})

/** Whether a test reaches into packages that are installed apart: on a fresh machine they are not there. */
const reachesApart = (text: string) =>
  /\.\.\/tools\/(?:peers|conformance|copilotkit|coding-agents)\b(?!\/package\.json'\), 'utf8')/.test(text)

test('tests find packages that are installed apart in one place, which says whether they are there', () => {
  expect(reachesApart("createRequire(join(here, '../../../tools/peers/package.json'))")).toBe(true)
  const found = tests.filter(({ text }) => reachesApart(text)).map(({ path }) => path)
  expect(found.toSorted()).toEqual(['conformance/suite.ts', 'house.test.ts', 'support/peers.ts'])
})

test('the server imports nothing of the dashboard, the client and the command line', () => {
  const found = sources.flatMap(({ path, text }) =>
    /from '[^']*(?:\bweb\/src|\.\.\/client|\.\.\/cli)\//.test(text) ? [path] : [],
  )
  expect(found).toEqual([])
})

test('there is one limit for the length of a file: 300 lines of code, an error of the linter', () => {
  const config = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as {
    rules: Record<string, unknown>
    overrides: { files: string[]; rules: Record<string, unknown> }[]
  }
  expect(config.rules['max-lines']).toEqual(['error', { max: 300, skipBlankLines: true, skipComments: true }])
  const lifted = config.overrides.filter((override) => 'max-lines' in override.rules)
  expect(lifted.flatMap((override) => override.files).filter((glob) => glob.startsWith('src'))).toEqual([])
})

/** Words that are an event type and also something else, with the files where they are that. */
const homonyms: Partial<Record<EventType, { means: string; files: readonly string[] }>> = {
  REQUIRES_ACTION: {
    means: 'a GenerationStatus',
    files: ['domain/generations/generation.ts', 'domain/generations/list.ts', 'api/protocols/a2a/list.ts'],
  },
  TOOL_DELETED: {
    means: 'a VoidReason',
    files: ['domain/approvals/drift.ts'],
  },
  APPROVAL_EXPIRED: {
    means: 'an error code',
    files: [
      'core/errors.ts',
      'api/graphql/builder/errors.ts',
      'api/protocols/segments/answers.ts',
      'domain/approvals/claims.ts',
      'domain/approvals/decide.ts',
      'domain/approvals/extend.ts',
      'domain/approvals/read.ts',
    ],
  },
}

/** Every event type that a file outside domain/events names. */
function eventsNamedIn(files: readonly Source[]): { path: string; type: EventType }[] {
  const types = Object.keys(eventKinds) as EventType[]
  return files
    .filter(({ path }) => moduleOf(path) !== 'events')
    .flatMap(({ path, text }) =>
      types.filter((type) => new RegExp(`['"\`]${type}['"\`]`).test(text)).map((type) => ({ path, type })),
    )
}

test('only domain/events names events', () => {
  const text = "append({ type: 'TOOL_DELETED' })"
  expect(eventsNamedIn([{ path: 'domain/tools/delete.ts', text }])).toEqual([
    { path: 'domain/tools/delete.ts', type: 'TOOL_DELETED' },
  ])
  const named = eventsNamedIn(sources)
  expect(named.filter(({ path, type }) => !homonyms[type]?.files.includes(path))).toEqual([])
  const used = Object.entries(homonyms).flatMap(([type, { files }]) => files.map((path) => ({ path, type })))
  expect(named, 'an entry of homonyms is not needed any more').toEqual(expect.arrayContaining(used))
})

/** Tables that are not declared, and columns of text or JSON that are not, or that hold contents which never go. */
function undeclared(tables: readonly PgTable[], declared: readonly TableTraits[]): string[] {
  return tables.flatMap((table) => {
    const traits = declared.find((one) => one.table === table)
    if (!traits) return [getTableName(table)]
    const goes = traits.under ?? traits.with ?? traits.soon ?? traits.erased
    return Object.values(getTableColumns(table)).flatMap(({ name, dataType }) => {
      const content = traits.columns.get(name)
      const isText = dataType === 'string' || dataType === 'custom'
      return (isText && !content) || (content === 'content' && !goes) ? [`${traits.name}.${name}`] : []
    })
  })
}

test('what each table and column holds of people is declared, and contents go', async () => {
  const planted = pgTable('planted', {
    id: textColumn('id'),
    said: textColumn('said'),
    told: textColumn('told'),
  })
  // @ts-expect-error: a column without its line does not compile.
  traitsOf(planted, { under: 'runDays' }, { content: ['said'] })
  const columns = new Map([['id', 'fact'] as const, ['told', 'content'] as const])
  expect(undeclared([planted], [])).toEqual(['planted'])
  expect(undeclared([planted], [{ name: 'planted', table: planted, columns }])).toEqual([
    'planted.said',
    'planted.told',
  ])
  const folder = join(root, 'src/store/db/tables')
  const modules = await Promise.all(
    readdirSync(folder).map((name) => import(join(folder, name)) as Promise<object>),
  )
  const tables = modules.flatMap((module) => Object.values(module).filter((one) => is(one, PgTable)))
  expect(tables.length).toBeGreaterThan(40)
  expect(undeclared(tables, tableTraits)).toEqual([])
})
