import { mergeConfig } from 'vitest/config'
import usual from './vitest.config.ts'

/** Tests that wait as long as people do. */
export default { ...mergeConfig(usual, {}), test: { ...usual.test, include: ['test/slow/**/*.slow.ts'] } }
