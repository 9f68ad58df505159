/** Reads calls that several requests ask for at the same moment in one statement. */
import { batchStatements } from '../../store/db/batch-statements.ts'
import type { Services } from '../access/index.ts'
import { loadCalls, type ToolCall } from '../tool-calls/index.ts'

/** A call that is known to exist; rejects when it does not. Checks no permission. */
export const batchLoadCall = batchStatements(
  async ({ db }: Pick<Services, 'db'>, ids: readonly string[]): Promise<ToolCall[]> => {
    const calls = new Map((await loadCalls(db, [...new Set(ids)])).map((call) => [call.id, call]))
    return ids.map((id) => {
      const call = calls.get(id)
      if (!call) throw new Error(`The call ${id} does not exist.`)
      return call
    })
  },
)
