/** The two commits around sending a call outside a generation, made however often the database does not answer. */
import { isStorageError } from '../../store/db/storage-error.ts'
import type { Lease } from '../../store/work/leases.ts'
import { readBack, whenAnswered } from '../../store/work/read-back.ts'
import type { Held } from '../../store/work/work.ts'
import type { Services } from '../access/index.ts'
import { isOpen, loadCall, statusOf, type Finished, type ToolCall } from '../tools/index.ts'
import { settleLate } from './late.ts'
import { markSent, settle } from './row.ts'

/**
 * Commits that a claimed call is sent now, however often the answer is lost; null when it is not ours any more. The
 * worker keeps the lease.
 */
export async function markSentSurely(
  services: Services,
  lease: Lease,
  call: ToolCall,
): Promise<ToolCall | null> {
  for (;;) {
    const { epoch } = lease.held
    try {
      return await markSent(services, lease.held)
    } catch (error) {
      if (!isStorageError(error)) throw error
    }
    const now = await readBack(lease, epoch, () => loadCall(services.leaseDb, call.id))
    if (now.status === 'EXECUTING' && now.attempt === call.attempt + 1) return now
  }
}

/**
 * Writes the outcome, however often the database does not answer, and also when the call was reported as UNKNOWN
 * meanwhile. Returns the call as it stands then.
 */
export async function settleSurely(
  services: Services,
  held: Held,
  call: ToolCall,
  finished: Finished,
): Promise<ToolCall> {
  const write = () => settle(services, held, call, finished.result, statusOf(finished))
  const now = await whenAnswered(write, settleLeases * services.limits.leaseMs, true)
  if (now.attempt !== call.attempt || (now.status !== 'UNKNOWN' && !isOpen(now))) return now
  await settleLate(services, call, finished)
  return loadCall(services.db, call.id)
}

/** How long an outcome is kept in memory while the database is away, in leases. */
const settleLeases = 8
