import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'

/**
 * Files that get a process of their own: they freeze or end connections under this process, measure its memory or how
 * long its event loop stalls, or replace its timers and environment. Most take minutes, and these run first.
 */
const alone = [
  'test/chaos/**/*.test.ts',
  'test/store/**/*.test.ts',
  'test/adversary/{fuzz,responses,schema-bombs,variables}.test.ts',
  'test/domain/access/revocation-watcher.test.ts',
  'test/domain/generations/providers/open-model.test.ts',
  'test/domain/generations/step/stream-timeout.test.ts',
  'test/core/pool.test.ts',
]

/** What every run has, whichever files it includes. */
export const common = {
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 20_000,
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
