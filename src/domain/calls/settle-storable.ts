/** Settles a call whose outcome the database may refuse to store. */
import { isRefused } from '../../store/db/storage-error.ts'
import type { Services } from '../access/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import { notStored, type Finished } from '../tools/index.ts'

/**
 * Settles the call with its outcome; when the database refuses that, with what can be told without it. Nothing is sent again
 * for it. Throws when the database refuses that as well.
 */
export async function settleStorable<Settled>(
  { log }: Pick<Services, 'log'>,
  call: ToolCall,
  finished: Finished,
  settle: (finished: Finished) => Promise<Settled>,
): Promise<Settled> {
  try {
    return await settle(finished)
  } catch (error) {
    if (!isRefused(error)) throw error
    log.error({ err: error, callId: call.id }, 'the database refused to store the outcome of a call')
    return settle(notStored(finished))
  }
}
