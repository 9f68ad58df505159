/**
 * What belongs to the principal that requested it: generations, threads, tool calls, approvals, files and the events of
 * all these. Without the action `generations:ReachOthers` a caller reaches only its own.
 */
import { query } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { requesterOf, type FeedStream } from '../events/index.ts'
import type { Ctx } from './context.ts'
import { lineageOf, memberOf } from './persons.ts'
import { allows, type Action } from './policy.ts'

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
export interface Ownership {
  /** The principal that requested it; null when that is not known. */
  by?: string | null | undefined
  /** The agent for whose bound keys it was made. */
  agentId?: string | null | undefined
  /** Its reach is judged elsewhere: by another right, or by `ownedBy` as a condition of the statement. */
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
export async function narrowedTo(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  resource: string,
): Promise<string[] | null> {
  if (reachesOthers(ctx, resource)) return null
  const rows = await query<{ id: string }>(ctx.db, memberOf(ctx.principal.id))
  return rows.map(({ id }) => id)
}

/** The condition that narrows a list to what the caller reaches, over the column that names the requester. */
export function ownedBy(
  ctx: Pick<Ctx, 'db' | 'principal'>,
  resource: string,
  column: unknown,
): SQL | undefined {
  // An array is made once, and the index of the column is used for it.
  return reachesOthers(ctx, resource) ? undefined : sql`${column} = any(array(${memberOf(ctx.principal.id)}))`
}
