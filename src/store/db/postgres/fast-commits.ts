/**
 * How statements and COMMIT are sent over one connection; those of the same moment share a transaction. See
 * docs/decisions/0054.
 */
import { CommitUnknownError, ConnectionLostError, StorageError } from '../storage-error.ts'
import type { Session, StatementOptions } from './session.ts'
import { batch } from '../../../core/async-work.ts'
import type { SessionPool } from './pool.ts'

/** Runs one statement. */
export type Run = (
  text: string,
  parameters: readonly unknown[],
  options: StatementOptions,
) => Promise<unknown[]>

/** For statements that need no plan. */
export const plain: StatementOptions = { prepare: false, values: false }

/** Throws CommitUnknownError when the connection was lost: the transaction may have been committed. */
export async function commit(session: Session): Promise<void> {
  try {
    await session.run('commit', [], plain)
  } catch (error) {
    throw error instanceof ConnectionLostError ? new CommitUnknownError(error) : error
  }
}

interface Statement {
  text: string
  parameters: readonly unknown[]
  options: StatementOptions
}

/** The most statements of a transaction, and their most characters; a larger statement has its own. */
const limits = { maxItems: 64, maxBytes: 1_000_000 }
/** Nothing is delayed for longer than this for the sake of others, in milliseconds. */
const waitMs = 1
/** A statement that waits for a lock longer than this, in milliseconds, goes on alone: others wait with it. */
const lockMs = 200

/**
 * Runs a statement, with those of the same moment in one transaction; one that is alone by itself, without a wait. When the
 * server refuses one of them, nothing of any was written, and each runs by itself. ConnectionLostError, for each of them,
 * when the transaction may have been committed.
 */
export function sharedCommits(pool: SessionPool): Run {
  const shared = batch(
    async (all: readonly Statement[]) => {
      const [first] = all
      if (all.length === 1) return [await pool.run(first!.text, first!.parameters, first!.options)]
      return pool.withSession((session) => inOneTransaction(session, all))
    },
    { ...limits, bytesOf: charactersOf, waitMs, splitsOn: (error) => !(error instanceof StorageError) },
  )
  return (text, parameters, options) => shared({ text, parameters, options })
}

function charactersOf({ parameters }: Statement): number {
  return parameters.reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 8), 0)
}

async function inOneTransaction(session: Session, all: readonly Statement[]): Promise<unknown[][]> {
  session.gather()
  const begin = session.run(`begin; set local lock_timeout = ${lockMs}`, [], plain)
  const sent = all.map(({ text, parameters, options }) => session.run(text, parameters, options))
  const [begun, committed, ...results] = await Promise.allSettled([begin, commit(session), ...sent])
  if (begun.status === 'rejected') {
    // What was sent behind it may have been executed without a transaction.
    session.destroy()
    throw new ConnectionLostError(undefined, begun.reason)
  }
  const refused = results.find((result) => result.status === 'rejected')
  if (refused) throw refused.reason
  if (committed.status === 'rejected') throw committed.reason
  return results.map((result) => (result as PromiseFulfilledResult<unknown[]>).value)
}
