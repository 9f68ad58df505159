/** The run of a tick, of a message or of a request: inserted in the transaction that says so in the trigger. */
import { query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { triggerStarts } from '../../store/db/tables/triggers.ts'
import { insertSelect } from '../../store/db/rows.ts'
import { type Ctx, assertMay, operation } from '../access/index.ts'
import { appendProjectEvents, triggerStarted } from '../events/index.ts'
import { beginGeneration, type Generation, generationPayload } from '../generations/index.ts'
import { type TriggerRow, findTrigger, resourceOf, fillTemplate } from './trigger.ts'
import { z } from 'zod'
import { AppError, invalidAt } from '../../core/errors.ts'
import { jsonTooBig } from '../../core/json.ts'
import { idOf, json } from '../../core/shapes.ts'

/** What a start is bound to. */
export interface StartOf {
  /** The same key of the same trigger starts one run; null: each start is one of its own. */
  key: string | null
  prompt: string
  missed?: number
  /** More assignments to the row. */
  set?: SQL
  /** What the row must still be; else `lost` is thrown and nothing is written. */
  still: SQL
  lost(): Error
}

/**
 * Starts a run of the agent with the rights of the context, in a thread of its own. With a key that was used before it
 * returns that run, and starts none.
 */
export function startRun(ctx: Ctx, row: TriggerRow, start: StartOf): Promise<Generation> {
  const { agentId } = row
  return beginGeneration(
    ctx,
    { agentId, prompt: start.prompt },
    { bind: (tx, id) => bindRun(tx, row, id, start) },
  )
}

async function bindRun(
  tx: Database,
  { id: triggerId, projectId }: TriggerRow,
  runId: string,
  { key, missed = 0, set, still, lost }: StartOf,
): Promise<string | null> {
  const own = { projectId, triggerId, key: key ?? `request/${runId}`, generationId: runId }
  const fresh = await query(tx, sql`${insertSelect(triggerStarts, own)} on conflict do nothing returning 1`)
  if (fresh.length === 0) {
    // A clock that was set back makes a tick come twice.
    if (set) await query(tx, sql`update triggers set ${set} where id = ${triggerId} and ${still}`)
    return findStart(tx, { projectId, id: triggerId }, own.key)
  }
  // A run by hand takes nothing away that a tick has said.
  const said = key === null ? sql`` : sql`, last_error = null, missed = ${missed}::int`
  const moved = await query(
    tx,
    sql`update triggers set
        last_run_id = ${runId},
        last_at = now()
        ${said}
        ${set ? sql`, ${set}` : sql``}
      where id = ${triggerId} and ${still}
      returning 1`,
  )
  if (moved.length === 0) throw lost()
  await appendProjectEvents(tx, projectId, [triggerStarted({ triggerId, runId, missed })])
  return null
}

/** The run that a key has started; null: none. */
export async function findStart(
  db: Database,
  { projectId, id }: Pick<TriggerRow, 'projectId' | 'id'>,
  key: string,
): Promise<string | null> {
  const [row] = await query<{ id: string }>(
    db,
    sql`select generation_id as id
      from trigger_starts
      where project_id = ${projectId} and trigger_id = ${id} and key = ${key}`,
  )
  return row?.id ?? null
}

const bodyLimits = { maxBytes: 256 * 1024, maxDepth: 100 }

/** Not idempotent. */
export const startTrigger = operation({
  name: 'startTrigger',
  does: 'Starts a generation of a trigger now, with the rights of the caller, also of one that is disabled.',
  permission: ['triggers:Get', 'generations:Start'],
  input: z
    .object({
      triggerId: idOf('trigger'),
      body: json()
        .optional()
        .describe('What the template of a URL gets in place of the body of a message. Default: {}.'),
    })
    .describe('The trigger to start.'),
  payload: generationPayload,
  refuses: ['NOT_FOUND', 'CONFLICT', 'LIMITED'],
  async run(ctx, { triggerId, body = {} }) {
    const row = await findTrigger(ctx.db, ctx, triggerId)
    await assertMay(ctx, 'triggers:Get', row.projectId, resourceOf(row.id))
    const fault = jsonTooBig(body, bodyLimits)
    if (fault) throw invalidAt(['input', 'body'], fault)
    const filled = row.kind === 'HOOK' ? fillTemplate(row.prompt, body) : { text: row.prompt }
    if ('missing' in filled)
      throw invalidAt(['input', 'body'], `has nothing at ${filled.missing}, which the template names`)
    const generation = await startRun(ctx, row, {
      key: null,
      prompt: filled.text,
      still: sql`true`,
      lost: () => new AppError('CONFLICT', 'This trigger was deleted meanwhile.', { conflictingId: row.id }),
    })
    return { generation, callbackSecret: null }
  },
})
