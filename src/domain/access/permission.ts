/** The permission check at the start of every operation, and the audit of changes and denials. */
import { AppError, notFound } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import type { Database } from '../../store/db/database.ts'
import { readEntries, record, type AuditEntry, type AuditFilter, type NewAuditEntry } from '../audit/index.ts'
import { projectOf, reaches, type Ctx } from './context.ts'
import type { Principal } from './principal.ts'
import { isWithinReach, type Ownership } from './own.ts'
import { allowedActions, allows, type Action } from './policy.ts'

/**
 * Relates an object to keys that are bound to an agent, and to callers that reach only what they requested. Without any
 * field neither has access.
 */
export interface Bond extends Ownership {
  /** The agent that the object is or belongs to. */
  agentId?: string | null | undefined
}

/**
 * Whether a bound key has access to the object: it is of its agent, or the key requested it. Unbound keys always have.
 */
export function holds({ id, agentId }: Principal, bond: Bond): boolean {
  return agentId === null || bond.agentId === agentId || bond.by === id
}

/**
 * Throws FORBIDDEN with the action, and audits the denial, unless the caller may do the action on the resource. Every
 * operation calls this with its own action, after it has resolved the project: objects of other projects are NOT_FOUND,
 * not FORBIDDEN. A key that is bound to an agent needs a `bond` that relates the object to it, and so does a caller that
 * reaches only its own things (see `isWithinReach`). A thing that somebody else requested and the caller does not reach is
 * NOT_FOUND, as if it did not exist: the resource is its kind and its id.
 */
export async function assertMay(
  ctx: Ctx,
  action: Action,
  projectId: string,
  resource: string,
  bond: Bond = {},
): Promise<void> {
  const refusal = await refusalOf(ctx, { action, projectId, resource }, bond)
  if (refusal === null) return
  throw refusal === 'HIDDEN' ? missing(resource) : refusal
}

/**
 * NOT_FOUND, as if it did not exist, for a thing that somebody else requested and the caller does not reach; `thing` is its
 * resource, where the right that `what` names is one on another. Audits the denial.
 */
export async function assertReached(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
  thing: string,
  bond: Bond,
): Promise<void> {
  if (await isReached(ctx, what.action, thing, bond)) return
  await recordDenial(ctx, what)
  throw missing(thing)
}

/** The error of a thing that does not exist for the caller, such as `toolCall/call_1`. */
function missing(resource: string): AppError {
  const [kind, id] = resource.split('/')
  return notFound(
    kind!.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    id!,
  )
}

/**
 * Null when the caller may; otherwise the denial is audited. HIDDEN: it does not reach the thing, and must not learn that there
 * is one.
 */
async function refusalOf(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
  bond: Bond,
): Promise<AppError | 'HIDDEN' | null> {
  const { action, resource } = what
  const reached = await isReached(ctx, action, resource, bond)
  if (reached && allows(ctx.principal.policy, action, resource)) return null
  const error = await denied(ctx, what, refusalText(ctx.principal, what, bond))
  return reached || bond.by === undefined ? error : 'HIDDEN'
}

async function isReached(ctx: Ctx, action: Action, thing: string, bond: Bond): Promise<boolean> {
  return holds(ctx.principal, bond) && isWithinReach(ctx, action, thing, bond)
}

function refusalText(
  principal: Principal,
  { action, resource }: { action: Action; resource: string },
  bond: Bond,
): string {
  if (!holds(principal, bond)) return `This key is bound to one agent: it may not ${action} on ${resource}.`
  if (!allows(principal.policy, action, resource)) return `This key may not ${action} on ${resource}.`
  return `This key reaches only what it requested itself: for ${action} on ${resource} it needs generations:ReachOthers.`
}

/** The actions that a principal may do, each with whether it is on every resource of its project. */
export function permissionsOf({ policy, agentId }: Principal): ReturnType<typeof allowedActions> {
  const allowed = allowedActions(policy)
  return agentId === null ? allowed : allowed.map(({ action }) => ({ action, resources: 'SOME' }))
}

/** Throws FORBIDDEN for a key that is bound to an agent, where no agent is involved. */
export function assertUnbound({ agentId }: Principal): void {
  if (agentId === null) return
  throw new AppError('FORBIDDEN', 'This key is bound to the MCP bridge of one agent.', {
    action: 'agents:Get',
  })
}

/**
 * The rows in the order of their ids, null for an id that does not exist for the caller, or whose thing it does not reach. Throws
 * FORBIDDEN when the caller may not do `action` on one that it reaches.
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
      const what = { action, projectId: row.projectId, resource: resourceOf(row) }
      const refusal = await refusalOf(ctx, what, bondOf(row))
      if (refusal === null) return row
      if (refusal === 'HIDDEN') return null
      throw refusal
    }),
  )
}

/** Audits a denial and returns the FORBIDDEN error to throw, for rules that are not part of a policy. */
export async function denied(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
  message: string,
): Promise<AppError> {
  await recordDenial(ctx, what)
  return new AppError('FORBIDDEN', message, { action: what.action })
}

function recordDenial(
  ctx: Ctx,
  what: { action: Action; projectId: string; resource: string },
): Promise<void> {
  return record(ctx.db, { ...callerOf(ctx), ...what, outcome: 'DENIED' })
}

/** A change by the caller, for the audit log. */
export interface AuditedChange {
  projectId: string
  action: Action
  resource: string
  details?: JsonObject
}

/** Audits a change by the caller. Pass the transaction of the change. */
export function recordChange(tx: Database, ctx: Ctx, change: AuditedChange): Promise<void> {
  return record(tx, entryOf(ctx, change))
}

/** The audit entry of a change by the caller, to be inserted in the transaction of the change. */
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

/** Audit entries of a project, newest first, all or those that match the filter. Action `audit:List`. */
export async function listAudit(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: AuditFilter | null | undefined
    page: Page
  },
): Promise<AuditEntry[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'audit:List', projectId, 'audit/*')
  return readEntries(ctx.db, projectId, input.page, input.filter ?? {})
}
