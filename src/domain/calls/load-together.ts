/** Reads calls that several requests ask for at the same moment in one statement. */
import type { Services } from '../access/index.ts'
import { loadCalls, type ToolCall } from '../tool-calls/index.ts'

interface Asking {
  id: string
  resolve(call: ToolCall): void
  reject(error: unknown): void
}

const asking = new WeakMap<object, Asking[]>()

/**
 * A call that is known to exist. Requests made in the same tick of the event loop share one statement. Checks no
 * permission.
 */
export function loadTogether({ db }: Pick<Services, 'db'>, id: string): Promise<ToolCall> {
  return new Promise((resolve, reject) => {
    const others = asking.get(db)
    if (others) return void others.push({ id, resolve, reject })
    const all = [{ id, resolve, reject }]
    asking.set(db, all)
    setImmediate(() => {
      asking.delete(db)
      void answer(db, all)
    })
  })
}

async function answer(db: Services['db'], all: readonly Asking[]): Promise<void> {
  try {
    const calls = await loadCalls(db, [...new Set(all.map(({ id }) => id))])
    const byId = new Map(calls.map((call) => [call.id, call]))
    for (const { id, resolve, reject } of all) {
      const call = byId.get(id)
      if (call) resolve(call)
      else reject(new Error(`The call ${id} does not exist.`))
    }
  } catch (error) {
    for (const { reject } of all) reject(error)
  }
}
