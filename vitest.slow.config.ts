import { defineConfig } from 'vitest/config'
import { common, globalSetup, resolve } from './vitest.config.ts'

/** Tests that wait as long as people do. */
export default defineConfig({
  resolve,
  test: { ...common, globalSetup, include: ['test/slow/**/*.slow.ts'] },
})
