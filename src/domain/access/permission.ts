/** The check at the start of every operation, and the record of what it let through or refused. */
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { readEntries, record, type AuditEntry, type NewAuditEntry } from '../audit/index.ts'
import { projectOf, reaches, type Ctx, type Principal } from './context.ts'
import { allows, type Action } from './policy.ts'

/** What ties a thing to keys that are bound to an agent. An operation that names neither is closed to them. */
export interface Bond {
  /** The agent that the thing is, or through which it is reached. */
  agentId?: string | null | undefined
  /** Who asked for it. */
  by?: string | null | undefined
}

/** Whether a bound key reaches the thing: its agent, and what the key itself asked for. Any other key always does. */
export function holds({ id, agentId }: Principal, bond: Bond): boolean {
  return agentId === null || bond.agentId === agentId || bond.by === id
}

/**
 * Lets the caller pass or throws FORBIDDEN naming the action, and records the denial. Every operation calls this with
 * its own action, after the project was resolved: another project's things do not exist, they are not forbidden. A key
 * that is bound to an agent passes only where `bond` ties the thing to it.
 */
export async function assertMay(
  ctx: Ctx,
  action: Action,
  projectId: string,
  resource: string,
  bond: Bond = {},
): Promise<void> {
  const what = { action, projectId, resource }
  if (!holds(ctx.principal, bond))
    throw await denied(ctx, what, `This key is bound to one agent: it may not ${action} on ${resource}.`)
  if (allows(ctx.principal.policy, action, resource)) return
  throw await denied(ctx, what, `This key may not ${action} on ${resource}.`)
}

/** Throws FORBIDDEN for a key that is bound to an agent: what is asked for has nothing to do with any agent. */
export function assertUnbound({ agentId }: Principal): void {
  if (agentId === null) return
  throw new AppError('FORBIDDEN', 'This key is bound to the MCP bridge of one agent.', {
    action: 'agents:Get',
  })
}

/**
 * The rows of these ids in their order, null for what does not exist for the caller. FORBIDDEN for a caller who may not
 * do `action` on one of them.
 */
export async function eachSeen<Row extends { id: string; projectId: string }>(
  ctx: Ctx,
  ids: readonly string[],
  rows: readonly Row[],
  action: Action,
  resourceOf: (row: Row) => string,
  bondOf: (row: Row) => Bond = () => ({}),
): Promise<(Row | null)[]> {
  const found = new Map(rows.map((row) => [row.id, row]))
  return Promise.all(
    ids.map(async (id) => {
      const row = found.get(id)
      if (!row || !reaches(ctx, row.projectId)) return null
      await assertMay(ctx, action, row.projectId, resourceOf(row), bondOf(row))
      return row
    }),
  )
}

/** Records a denial and answers the FORBIDDEN to throw, for rules that are not in a policy. */
export async function denied(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
  message: string,
): Promise<AppError> {
  await record(ctx.db, { ...callerOf(ctx), ...what, outcome: 'DENIED' })
  return new AppError('FORBIDDEN', message, { action: what.action })
}

/** A change by the caller, for the audit. */
export interface AuditedChange {
  projectId: string
  action: Action
  resource: string
  details?: JsonObject
}

/** Records a change by the caller; pass the transaction that makes it. */
export function recordChange(tx: Database, ctx: Ctx, change: AuditedChange): Promise<void> {
  return record(tx, entryOf(ctx, change))
}

/** The entry of a change by the caller, to be written with it. */
export function entryOf(ctx: Ctx, change: AuditedChange): NewAuditEntry {
  const { principalId, details } = callerOf(ctx)
  return { ...change, principalId, details: { ...change.details, ...details }, outcome: 'ALLOWED' }
}

function callerOf(ctx: Ctx): { principalId: string; details: JsonObject } {
  return {
    principalId: ctx.principal.id,
    details: ctx.remoteAddress ? { remoteAddress: ctx.remoteAddress } : {},
  }
}

/** Entries of a project, newest first. Action `audit:List`. */
export async function listAudit(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<AuditEntry[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'audit:List', projectId, 'audit/*')
  return readEntries(ctx.db, projectId, input.page)
}
