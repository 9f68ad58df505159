import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'

/**
 * Files that get a process of their own: they freeze or end connections under this process, measure its memory or how
 * long its event loop stalls, replace its timers or environment, use up its budget for work that is stopped, or run an
 * authorization server, which keeps its state as long as the process. Most take long, and vitest starts with them.
 */
const alone = [
  'test/chaos/**/*.test.ts',
  'test/store/**/*.test.ts',
  'test/conformance/**/*.test.ts',
  'test/adversary/{fuzz,responses,schema-bombs,variables}.test.ts',
  'test/adversary/{login-in-another-browser,secrets}.test.ts',
  'test/api/graphql/{bad-input,hardening}.test.ts',
  'test/core/**/*.test.ts',
  'test/docs/examples.test.ts',
  'test/domain/access/revocation-watcher.test.ts',
  'test/domain/generations/providers/open-model.test.ts',
  'test/domain/generations/step/stream-timeout.test.ts',
  'test/domain/tools/**/*.test.ts',
  'test/domain/upstream/{oauth,replicas}.test.ts',
  'test/web/upstream-login.test.ts',
  'test/journeys/{many-waiters,rotate-key,upstreams}.test.ts',
]

/** What every run has, whichever files it includes. */
export const common = {
  pool: 'forks',
  // One more than the cores of a small machine: many tests wait, for leases that end and processes that start.
  maxWorkers: 3,
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 20_000,
  // One second, the default, is less than a page needs to load on a busy machine.
  expect: { poll: { timeout: 15_000 } },
} as const

// Vite would take the ESM build for our files while Node gives the packages the CommonJS one: two realms of types.
export const resolve = {
  alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }],
}

export const globalSetup = ['test/support/global-setup.ts']

export default defineConfig({
  resolve,
  test: {
    ...common,
    globalSetup,
    projects: [
      { resolve, test: { ...common, name: 'alone', include: alone } },
      // Importing the server takes longer than most files take: a worker imports it once.
      {
        resolve,
        test: { ...common, name: 'shared', isolate: false, include: ['test/**/*.test.ts'], exclude: alone },
      },
    ],
  },
})
