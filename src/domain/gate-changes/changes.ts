/** Changes of gates by two people: one proposes, another confirms. */
import { entity, idOf, idShape, optional, part } from '../../core/shapes.ts'
import { eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { atomically, nowPlus, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { gateChanges } from '../../store/db/tables/approvals.ts'
import {
  assertMay,
  assertQuota,
  assertStillValid,
  denialError,
  visibleRows,
  personsOf,
  projectOf,
  reachable,
  recordChange,
  type Ctx,
  publishSurface,
  operation,
} from '../access/index.ts'
import { appendProjectEvents, gateChangeDecided, gateChangeProposed } from '../events/index.ts'
import { gateInput, verdictChoice } from '../gates/index.ts'
import { actionGates } from '../tools/index.ts'
import {
  changeOf,
  resourceOfTarget,
  type GateChange,
  type GateEdit,
  findTarget,
  type GateTarget,
} from './change.ts'

/** A proposal without a decision expires after this time, in milliseconds: seven days. */
const lifetimeMs = 7 * 24 * 60 * 60 * 1000

const payload = part('GateChangePayload', 'The proposed gate change after the mutation.', {
  gateChange: entity<GateChange>()('GateChange').describe('The proposed gate change after the mutation.'),
})

const proposal = z
  .object({
    targetId: idShape('The id of a tool or agent; or that of the project, to set gatesNeedSecond to false.'),
    gate: gateInput.nullish().describe('The new gate of the tool or agent.'),
    removeGate: optional(
      z.boolean().describe('Whether the gate is removed; not together with gate.'),
      'false',
    ),
    actionGates: actionGates
      .nullish()
      .describe('The gates of single actions of an mcp tool, which replace all present ones.'),
    agentsOnly: z.boolean().nullish().describe('Whether only agents may call the tool; not for an agent.'),
    note: text(2000).nullish().describe('The reason for the change, at most 2,000 characters.'),
  })
  .describe('The proposed gate change. Fields that are left out do not change.')

/** INVALID when the change could not be set. */
export const proposeGateChange = operation({
  name: 'proposeGateChange',
  does: 'Proposes a gate change, which another person must confirm within seven days before it applies.',
  permission: 'gates:Update',
  input: proposal,
  payload,
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, given) {
    const target = await findTarget(ctx, given.targetId)
    const { projectId, version: targetVersion, name } = target
    const resource = resourceOfTarget(target.id)
    await assertMay(ctx, 'gates:Update', projectId, resource)
    const change = editOf(given)
    await target.check(change)
    const id = newId('gateChange')
    const made = await atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, gateChanges, projectId, 'changes of gates')
      const proposedBy = ctx.principal.id
      const [row] = await tx
        .insert(gateChanges)
        .values({
          id,
          projectId,
          target: target.id,
          targetVersion,
          change,
          note: given.note ?? null,
          proposedBy,
          expiresAt: nowPlus(lifetimeMs),
        })
        .returning()
      const details = { gateChangeId: id, proposed: true }
      await recordChange(tx, ctx, { projectId, action: 'gates:Update', resource, details })
      const event = gateChangeProposed({ gateChangeId: id, target: target.id, name, proposedBy })
      await appendProjectEvents(tx, projectId, [event])
      return row!
    })
    publishSurface(ctx, projectId)
    return { gateChange: changeOf(made, ctx.clock.now()) }
  },
})

function editOf({ gate, removeGate, agentsOnly, ...given }: z.output<typeof proposal>): GateEdit {
  return {
    ...(gate ? { gate } : removeGate ? { gate: null } : {}),
    ...(given.actionGates ? { actionGates: given.actionGates } : {}),
    ...(typeof agentsOnly === 'boolean' ? { agentsOnly } : {}),
  }
}

/**
 * The proposer may reject it; only another person may confirm it (see personsOf), with a key that may vote. A confirmed change
 * is set in the same transaction. CONFLICT when it is already decided, has expired, or the target has changed since.
 */
export const decideGateChange = operation({
  name: 'decideGateChange',
  does: 'Confirms or rejects a proposed gate change, once; a confirmed change is applied at once.',
  permission: 'gates:Update',
  input: z
    .object({
      id: idOf('gateChange', 'proposed gate change'),
      verdict: verdictChoice.describe('The verdict about the change.'),
    })
    .describe('A verdict about a proposed gate change.'),
  payload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, { id, verdict }) {
    const [found] = await loadChanges(ctx.db, [id])
    const { projectId, target: targetId } = reachable(ctx, found, 'change of a gate', id)
    const target = await findTarget(ctx, targetId)
    const resource = resourceOfTarget(targetId)
    const what = { action: 'gates:Update', projectId, resource } as const
    await assertMay(ctx, what.action, projectId, resource)
    const refusal = await refusalFor(ctx, found!.proposedBy, verdict)
    if (refusal) throw await denialError(ctx, what, refusal)
    const decided = await atomically(ctx.db, (tx) => decide(tx, ctx, id, verdict, target))
    publishSurface(ctx, projectId)
    return { gateChange: changeOf(decided, ctx.clock.now()) }
  },
})

async function refusalFor(ctx: Ctx, proposedBy: string, verdict: string): Promise<string | null> {
  const { id, votes } = ctx.principal
  if (!votes) return 'This key is marked as a program, so it cannot decide: use the key of a person.'
  const persons = await personsOf(ctx.db, [id, proposedBy])
  return verdict === 'APPROVE' && persons.get(id) === persons.get(proposedBy)
    ? 'You proposed this change yourself, with this key or another one of yours: another person must confirm it.'
    : null
}

async function decide(
  tx: Database,
  ctx: Ctx,
  id: string,
  verdict: 'APPROVE' | 'REJECT',
  target: GateTarget,
): Promise<typeof gateChanges.$inferSelect> {
  const [row] = await tx
    .update(gateChanges)
    .set({
      status: verdict === 'APPROVE' ? 'CONFIRMED' : 'REJECTED',
      decidedBy: ctx.principal.id,
      decidedAt: sql`now()`,
    })
    .where(sql`${eq(gateChanges.id, id)} and status = 'PENDING' and expires_at > now()`)
    .returning()
  if (!row)
    throw new AppError('CONFLICT', 'This change is already decided, or has expired.', {
      conflictingId: id,
    })
  await assertStillValid(tx, ctx.principal)
  const { projectId } = row
  const edit = row.change as GateEdit
  if (verdict === 'APPROVE') {
    if (target.version !== row.targetVersion)
      throw new AppError(
        'CONFLICT',
        'The target has changed since. Read it again and propose a new change.',
        {
          conflictingId: id,
        },
      )
    await target.apply(tx, edit)
  }
  const details = { gateChangeId: id, verdict }
  const resource = resourceOfTarget(target.id)
  await recordChange(tx, ctx, { projectId, action: 'gates:Update', resource, details })
  const decidedBy = ctx.principal.id
  const event = gateChangeDecided({ ...details, target: target.id, name: target.name, decidedBy })
  await appendProjectEvents(tx, projectId, [event])
  return row
}

/** Changes by id; null for those that do not exist for the caller. Action `gates:Get` on each target. */
export async function getGateChanges(ctx: Ctx, ids: readonly string[]): Promise<(GateChange | null)[]> {
  const rows = await loadChanges(ctx.db, ids)
  const now = ctx.clock.now()
  const changes = rows.map((row) => changeOf(row, now))
  return visibleRows(ctx, ids, changes, 'gates:Get', ({ target }) => resourceOfTarget(target))
}

/** Changes of a project, newest first, all or the pending ones. Action `gates:List`. */
export async function listGateChanges(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; pending?: boolean | null | undefined; page: Page },
): Promise<GateChange[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'gates:List', projectId, 'gate/*')
  const where = input.pending ? sql`status = 'PENDING' and expires_at > now()` : undefined
  const now = ctx.clock.now()
  return (await listPage(ctx.db, gateChanges, projectId, input.page, where)).map((row) => changeOf(row, now))
}

async function loadChanges(
  db: Database,
  ids: readonly string[],
): Promise<(typeof gateChanges.$inferSelect)[]> {
  if (ids.length === 0) return []
  return db
    .select()
    .from(gateChanges)
    .where(inArray(gateChanges.id, [...ids]))
}
