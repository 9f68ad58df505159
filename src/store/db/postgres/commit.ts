/** How statements and COMMIT are sent over one connection. */
import { CommitUnknownError, ConnectionLostError } from '../storage-error.ts'
import type { Session, StatementOptions } from './session.ts'

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
