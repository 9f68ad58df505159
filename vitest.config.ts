import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

/**
 * What `npm run test:all` adds to `npm test`: processes that are killed and frozen, clients that wait as long as people do,
 * pages, programs and examples that are built, and the journeys that go through every screen. The full doses of their random
 * schedules are behind `npm run chaos` and `npm run fuzz`.
 */
const long = [
  'test/chaos/**/*.test.ts',
  'test/conformance/**/*.test.ts',
  'test/adversary/fuzz.test.ts',
  'test/{client/killed-server,first-start,store/connections}.test.ts',
  'test/web/{hostile-text,link-scanner,lost-events,many-and-gone,names,roles,tour}.test.ts',
  'test/{cli/command,client/built,tools/build-when-stale}.test.ts',
  'test/journeys/snapshot-then-events.test.ts',
  'test/docs/examples.test.ts',
  'test/api/protocols/ag-ui/copilotkit-{react,reopened}.test.ts',
  'test/api/protocols/assistant-ui/*.test.ts',
  'test/examples.test.ts',
  'test/tools/{image,packed,release}.test.ts',
  'test/slow/**/*.test.ts',
]

/** Files with tests for packages of tools/, which skip without them: a part of `npm run test:all`. */
const judged = readdirSync(join(import.meta.dirname, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => join('test', path))
  .filter((path) =>
    /from '[^']*\/(?:peers|copilotkit-fixtures)\.ts'|\b(?:majors|openAgent|openCore|openInterrupts)\b.*\/clients\.ts'/.test(
      readFileSync(join(import.meta.dirname, path), 'utf8'),
    ),
  )

/** Of them those that run an authorization server, which keeps its state as long as the process. */
const stateful = [
  'test/adversary/{login-in-another-browser,own-logins,secrets,sign-ins}.test.ts',
  'test/domain/upstream/{oauth,replicas}.test.ts',
  'test/web/{own-login,upstream-login}.test.ts',
  'test/journeys/{acts-for,exchange,exchange-servers,own-logins,upstreams}.test.ts',
]

/**
 * Files that get a process of their own: they measure its memory or how long its event loop stalls, replace its timers or
 * environment, use up its budget for work that is stopped, or ask whether it follows promises.
 */
const alone = [
  'test/api/protocols/segments/sse.test.ts',
  'test/store/{events/numbering,schedule}.test.ts',
  'test/adversary/{responses,schema-bombs,variables}.test.ts',
  'test/core/{batch,carried,json-schema,pool}.test.ts',
  'test/domain/access/revocation-watcher.test.ts',
  'test/domain/models/providers/open-model.test.ts',
  'test/domain/generations/step/stream-timeout.test.ts',
  'test/journeys/retention/batches.test.ts',
]

/** What every project has. */
const common = {
  pool: 'forks' as const,
  // No test runs WebAssembly for so long that compiling PGlite a second time, optimized, would pay.
  execArgv: ['--liftoff-only'],
  // Twice the cores of a small machine: many tests wait, for leases that end, pauses and processes that start.
  maxWorkers: 4,
  // A machine may be five times slower than another one on the same day: limits end what hangs, and assert nothing.
  testTimeout: 180_000,
  hookTimeout: 360_000,
  teardownTimeout: 60_000,
  // One second, the default, is less than a page needs to load on a busy machine.
  expect: { poll: { timeout: 90_000 } },
}

// Vite would take the ESM build for our files while Node gives the packages the CommonJS one: two realms of types.
const resolve = {
  alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }],
}

/** Of the long files those that get a process of their own: for the same reasons, or because they take longest and are begun first. */
const longAlone = [
  'test/adversary/fuzz.test.ts',
  'test/chaos/{crowd-and-clock,failover-patroni}.test.ts',
  'test/client/built.test.ts',
  'test/conformance/client.test.ts',
  'test/slow/{fresh-machine,impatient-clients}.test.ts',
  'test/tools/{image,packed}.test.ts',
]

/** Importing the server takes longer than most files take: where `isolate` is false, a worker imports it once. */
const projects = Object.entries({
  alone: { include: alone, exclude: [...long, ...judged] },
  shared: {
    isolate: false,
    include: ['test/**/*.test.ts'],
    exclude: [...alone, ...long, ...judged, ...stateful],
  },
  'long-alone': { include: [...longAlone, ...stateful] },
  'long-shared': {
    isolate: false,
    include: [...long, ...judged],
    exclude: [...longAlone, ...stateful],
  },
})

export default defineConfig({
  resolve,
  test: {
    ...common,
    // `npm run test:all` after `npm test` finds every module transformed.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/support/global-setup.ts'],
    projects: projects.map(([name, files]) => ({ resolve, test: { ...common, name, ...files } })),
  },
})
