/**
 * The permission check at the start of every operation, the audit of changes and denials, and what belongs to the
 * principal that requested it.
 */
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { requesterOf, type FeedStream } from '../../events/index.ts'
import { type Ctx, projectOf, reaches } from '../context/context.ts'
import { lineageOf, memberOf } from '../principals/persons.ts'
import { allows, type Action, allowedActions } from './policy.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Page } from '../../../core/page.ts'
import {
  readEntries,
  record,
  type AuditEntry,
  type AuditFilter,
  type NewAuditEntry,
} from '../../audit/index.ts'
import type { Principal } from '../principals/subjects.ts'

/** Actions on things that belong to who requested them. A check that does not say whose they are is for all of them. */
const onOwned = new Set<Action>([
  'generations:Get',
  'generations:List',
  'generations:SubmitToolOutputs',
  'generations:Cancel',
  'toolCalls:Get',
  'toolCalls:List',
  'toolCalls:Resolve',
  'approvals:Get',
  'approvals:List',
  'files:Get',
  'files:List',
  'files:Delete',
  'events:Subscribe',
])

/** Whose a thing is. Absent: not known, or things of several principals. */
interface Ownership {
  /** The principal that requested it; null when that is not known. */
  by?: string | null | undefined
  /** The agent for whose bound keys it was made. */
  agentId?: string | null | undefined
  /** Its reach is judged elsewhere: by another right, or by `ownershipCondition` as a condition of the statement. */
  reached?: boolean | undefined
}

/**
 * Whether the caller reaches a thing of that owner: its policy allows `generations:ReachOthers` on the resource, or the
 * thing was requested by the caller or by a key that was made with the caller's, directly or through others.
 */
export async function isWithinReach(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  action: Action,
  resource: string,
  { by, agentId, reached }: Ownership,
): Promise<boolean> {
  if (reached || (by === undefined && !onOwned.has(action))) return true
  const { principal } = ctx
  if (principal.agentId !== null && agentId === principal.agentId) return true
  return reachesOthers(ctx, resource) || (by ? isOwn(ctx, by) : false)
}

/** Whether the caller reaches what others requested. */
export function reachesOthers({ principal }: Pick<Ctx, 'principal'>, resource: string): boolean {
  return allows(principal.policy, 'generations:ReachOthers', resource)
}

/** Whether this is the caller or a key made with it. */
async function isOwn({ db, principal }: Pick<Ctx, 'db' | 'principal'>, id: string): Promise<boolean> {
  if (id === principal.id) return true
  return !principal.installation && (await lineageOf(db, id)).includes(principal.id)
}

/**
 * The events of a stream that tell of what the caller reaches, judged by what each event says: keys that the caller makes
 * while it reads are its own at once. What cannot be told is left out; where the stream starts is told to everybody.
 */
export function ownEvents(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  resource: string,
  stream: FeedStream,
): FeedStream {
  if (reachesOthers(ctx, resource)) return stream
  return {
    async next() {
      for (;;) {
        const item = await stream.next()
        if (item.done || 'start' in item.value) return item
        const by = 'event' in item.value ? await requesterOf(ctx.db, item.value.event) : null
        if (by !== null && (await isOwn(ctx, by))) return item
      }
    },
    return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
    throw: async (error) => {
      await stream.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** The ids of the principals to whose things a list for the caller is narrowed; null: a list of all. */
export async function reachablePrincipals(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  resource: string,
): Promise<string[] | null> {
  if (reachesOthers(ctx, resource)) return null
  const rows = await query<{ id: string }>(ctx.db, memberOf(ctx.principal.id))
  return rows.map(({ id }) => id)
}

/** The condition that narrows a list to what the caller reaches, over the column that names the requester. */
export function ownershipCondition(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  resource: string,
  column: unknown,
): SQL | undefined {
  // An array is made once, and the index of the column is used for it.
  return reachesOthers(ctx, resource) ? undefined : sql`${column} = any(array(${memberOf(ctx.principal.id)}))`
}

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
  const error = await denialError(ctx, what, refusalText(ctx.principal, what, bond))
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
export async function visibleRows<Row extends { id: string; projectId: string }>(
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
export async function denialError(
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

/** Who did something, and from where. */
interface AuditedCaller {
  principal: Pick<Principal, 'id' | 'actsFor'>
  remoteAddress: string | null
}

/** The audit entry of a change by the caller, to be inserted in the transaction of the change. */
export function entryOf(ctx: AuditedCaller, change: AuditedChange): NewAuditEntry {
  const { principalId, details } = callerOf(ctx)
  return { ...change, principalId, details: { ...change.details, ...details }, outcome: 'ALLOWED' }
}

function callerOf(ctx: AuditedCaller): { principalId: string; details: JsonObject } {
  const { id, actsFor } = ctx.principal
  return {
    principalId: id,
    details: {
      ...(ctx.remoteAddress ? { remoteAddress: ctx.remoteAddress } : {}),
      ...(actsFor === undefined ? {} : { actsFor }),
    },
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
