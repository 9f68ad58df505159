/** The complete sets of clients, scored and unscored. */
import { judgeClient } from '../conformance/client-judge.ts'

await judgeClient('2025-11-25', () => true)
await judgeClient('2026-07-28', () => true)
