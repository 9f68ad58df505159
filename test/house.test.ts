/** The law of imports: floors, rooms, front doors and no circles. A failure names the pair of files. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { eventKinds, type EventType } from '../src/domain/events/index.ts'

/** Debt has an address: a path and the reason why the law does not hold there. */
const exceptions: { path: string; reason: string }[] = []

const floors = ['core', 'store', 'domain', 'api', 'demo', 'app', 'main']
/** The ground floor of the domain first: a room imports only rooms before it. See docs/decisions/0006. */
const ladder = [
  'egress',
  'audit',
  // Below access, which writes events of keys and projects: it checks no permission itself.
  'events',
  'access',
  'secrets',
  'files',
  'upstream',
  'webhooks',
  'tools',
  'tool-calls',
  'approvals',
  'calls',
  'agents',
  'gates',
  'generations',
  'bridge',
]
/** What a floor may import beside itself. The faces skip the store. */
const below: Record<string, string[]> = {
  core: [],
  store: ['core'],
  domain: ['core', 'store'],
  api: ['core', 'domain'],
  demo: ['core', 'domain'],
  app: ['core', 'store', 'domain', 'api', 'demo', 'app'],
  main: ['app'],
}

const src = join(import.meta.dirname, '..', 'src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))

/** Every relative import of a file: static, dynamic and of types alike. */
function importsOf(path: string): string[] {
  const text = readFileSync(join(src, path), 'utf8')
  const found = [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)['"](\.[^'"]+)['"]/g)]
  return found.map((match) => normalize(join(dirname(path), match[1]!)))
}

const edges = files.flatMap((from) => importsOf(from).map((to) => ({ from, to })))
const excused = (path: string) => exceptions.some((exception) => exception.path === path)

/** The floor of a file. The files beside the folders are the roof: app and what it is made of, then main. */
function floorOf(path: string): string {
  if (path.includes('/')) return path.split('/')[0]!
  return path === 'main.ts' ? 'main' : 'app'
}

const roomOf = (path: string) => (path.startsWith('domain/') ? path.split('/')[1]! : null)
const tell = (bad: { from: string; to: string }[]) => bad.map(({ from, to }) => `${from} -> ${to}`)

test('the house is not empty, so that no rule passes on nothing', () => {
  expect(files.length).toBeGreaterThan(80)
  expect(edges.length).toBeGreaterThan(200)
  expect(new Set(files.map(floorOf))).toEqual(new Set(floors))
  for (const { to } of edges) expect(files, to).toContain(to)
})

test('every floor stands on the floors below it, and the faces never touch the store', () => {
  const bad = edges.filter(({ from, to }) => {
    const [upper, lower] = [floorOf(from), floorOf(to)]
    return upper !== lower && !below[upper]!.includes(lower) && !excused(from)
  })
  expect(tell(bad)).toEqual([])
})

test('the rooms of the domain keep the ladder', () => {
  const rooms = new Set(files.map(roomOf).filter((room) => room !== null))
  for (const room of rooms) expect(ladder).toContain(room)
  const bad = edges.filter(({ from, to }) => {
    const [upper, lower] = [roomOf(from), roomOf(to)]
    return upper !== null && lower !== null && ladder.indexOf(lower) > ladder.indexOf(upper) && !excused(from)
  })
  expect(tell(bad)).toEqual([])
})

test('a room of the domain is entered by its front door', () => {
  const bad = edges.filter(({ from, to }) => {
    const room = roomOf(to)
    return room !== null && room !== roomOf(from) && to !== `domain/${room}/index.ts` && !excused(from)
  })
  expect(tell(bad)).toEqual([])
})

test('the faces do not know each other', () => {
  const face = (path: string) => (path.startsWith('api/') ? path.split('/')[1]! : null)
  const bad = edges.filter(
    ({ from, to }) => face(from) !== null && face(to) !== null && face(from) !== face(to),
  )
  expect(tell(bad)).toEqual([])
})

test('no two files need each other, not even by a long way round and not for types', () => {
  const next = new Map(files.map((file) => [file, importsOf(file)]))
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (file: string, path: string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) return void circles.push([...path.slice(at), file].join(' -> '))
    if (done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  files.forEach((file) => walk(file, []))
  expect(circles).toEqual([])
})

test('packages stay on their floor', () => {
  const homes: [RegExp, RegExp][] = [
    [/^(postgres|@electric-sql\/pglite|ioredis)$|^drizzle-orm\/(pglite|postgres-js)/, /^store\//],
    [
      /^(graphql|graphql-yoga|graphql-ws|graphql-scalars|dataloader|@pothos\/|@escape\.tech\/|@graphql-yoga\/)/,
      /^api\/graphql\//,
    ],
    [/^ws$/, /^api\/graphql\//],
    [/^@ai-sdk\//, /^domain\/generations\/providers\//],
    [/^(undici|ipaddr\.js)$/, /^domain\/egress\//],
    [/^(pino|prom-client)$/, /^(logging|servers)\.ts$/],
    [/^@modelcontextprotocol\/server/, /^api\/mcp\//],
    [/^@modelcontextprotocol\/client/, /^domain\/upstream\//],
    [/^jose$/, /^domain\/access\//],
  ]
  const bad = files.flatMap((path) => {
    const text = readFileSync(join(src, path), 'utf8')
    const names = [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)['"]([^.'"][^'"]*)['"]/g)].map(
      (match) => match[1]!,
    )
    return names.flatMap((name) =>
      homes.some(([what, where]) => what.test(name) && !where.test(path)) ? [`${path} -> ${name}`] : [],
    )
  })
  expect(bad).toEqual([])
})

test('the environment is read in one file', () => {
  const readers = files.filter((path) => readFileSync(join(src, path), 'utf8').includes('process.env'))
  expect(readers).toEqual(['config.ts'])
})

test('no file is a room for the rest, and every exception has an address', () => {
  const bad = files.filter((path) =>
    /(^|[/-])(utils?|helpers?|common|misc|managers?|services?|impl|types)(\.|-|\/)/.test(path),
  )
  expect(bad).toEqual([])
  for (const { path, reason } of exceptions) {
    expect(files).toContain(path)
    expect(reason).not.toBe('')
  }
  console.log(`exceptions to the law of the house: ${exceptions.length}`)
})

/** Words that are an event type and also something else, with the files where they are that. */
const homonyms: Partial<Record<EventType, { means: string; files: readonly string[] }>> = {
  REQUIRES_ACTION: {
    means: 'a GenerationStatus',
    files: ['domain/generations/generation.ts', 'domain/generations/read.ts'],
  },
  TOOL_DELETED: {
    means: 'a VoidReason',
    files: ['domain/approvals/approval.ts', 'domain/approvals/drift.ts'],
  },
  APPROVAL_EXPIRED: {
    means: 'an error code',
    files: ['core/errors.ts', 'api/graphql/errors.ts', 'domain/approvals/apply-verdict.ts'],
  },
}

test('only domain/events names events', () => {
  const types = Object.keys(eventKinds) as EventType[]
  const isEvents = (path: string) => path.startsWith('domain/events/')
  const named = files
    .filter((path) => !isEvents(path))
    .flatMap((path) => {
      const text = readFileSync(join(src, path), 'utf8')
      return types
        .filter((type) => new RegExp(`['"\`]${type}['"\`]`).test(text))
        .map((type) => ({ path, type }))
    })
  expect(named.filter(({ path, type }) => !homonyms[type]?.files.includes(path))).toEqual([])
  // An exception that is not needed any more goes.
  const used = Object.entries(homonyms).flatMap(([type, { files: where }]) =>
    where.map((path) => ({ path, type })),
  )
  expect(named).toEqual(expect.arrayContaining(used))
})

test('only domain/events writes to the log, so that every event has the data of its kind', () => {
  const writers = ['store/events/log.ts', 'store/work/owner-update.ts']
  const bad = edges.filter(
    ({ from, to }) =>
      writers.includes(to) && floorOf(from) !== 'store' && roomOf(from) !== 'events' && !excused(from),
  )
  expect(tell(bad)).toEqual([])
})
