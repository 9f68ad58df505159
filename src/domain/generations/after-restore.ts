/**
 * After a restore, the outcome of calls that were running at the time of the backup is unknown, and so is whether those were
 * sent that were next: settles them as UNKNOWN.
 */
import { query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { parentLinkOf } from '../../store/work/owner.ts'
import type { Services } from '../access/index.ts'
import { settleLost } from '../calls/index.ts'
import { isIdempotent, proposedCallable, unknownResult } from '../tools/index.ts'
import { toolCallOf, type ToolCall } from '../tool-calls/index.ts'
import { commit, type HeldRun } from './transaction/commit.ts'
import { outcomeOf } from './transaction/commit-with-outage-retry.ts'

/** The services that settle calls without a running server. */
type Settler = Pick<Services, 'db' | 'leaseDb' | 'pubsub' | 'actions'> & {
  limits: Pick<Services['limits'], 'leaseMs'>
}

const batch = 100

/**
 * Makes every call that runs, or that is sent without a further question, UNKNOWN unless it is idempotent, with its event and
 * audit entry, and returns how many. Each is settled in a statement of its own under its epoch, so a repeat after an
 * interruption continues and settles none twice. Idempotent calls, and those of agents and clients in runs, are left to the
 * workers, which send or follow them. No server may run meanwhile.
 */
export async function settleInterruptedCalls(services: Settler): Promise<number> {
  let settled = 0
  for (let after = ''; ;) {
    const rows = await selectRows(
      services.db,
      toolCalls,
      sql`
        where id > ${after} and status in ('EXECUTING', 'APPROVED', 'PROPOSED')
          and child_id is null
          and (kind is null or kind not in ('agent', 'client') or (kind = 'client' and generation_id is null))
        order by id
        limit ${batch}`,
    )
    for (const row of rows) {
      const call = toolCallOf(row)
      // Nobody knows whether the program that asked for it has taken it since, and what it did.
      const callable = call.kind === 'client' ? null : await proposedCallable(services, call)
      if (callable && isIdempotent(callable)) continue
      // One that a person lets run again has a row of its own, also inside a run.
      if (call.generationId === null || call.settledAt)
        await settleLost(services, { id: call.id, epoch: row.epoch }, call)
      else await settleInRun(services, call.generationId, call)
      settled++
    }
    if (rows.length < batch) return settled
    after = rows.at(-1)!.id
  }
}

async function settleInRun(services: Settler, generationId: string, call: ToolCall): Promise<void> {
  const [held] = await query<HeldRun>(
    services.db,
    sql`select id, epoch, ${parentLinkOf} from generations where id = ${generationId}`,
  )
  await commit(services.db, held!, {
    ...outcomeOf({ services }, call, unknownResult(), 'UNKNOWN'),
    wakeAt: sql`now()`,
  })
}
