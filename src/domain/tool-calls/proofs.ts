/** Conditions that prove the right to write a call, for the statements of sql.ts. Each updates the row `t`. */
import { sql, type SQL } from '../../store/db/sql.ts'
import { heldRows, type Held } from '../../store/work/work.ts'

/** A condition on `t`: its writer may write it. */
export type Proof = SQL

/** Within the commit of the call's generation, whose row is the relation `g(id)`. Settled calls stay unchanged. */
export const inGeneration: Proof = sql`t.generation_id in (select id from g) and t.settled_at is null`

/** The writer holds the lease of the call's own row. */
export function underLease({ epoch }: Held): Proof {
  return sql`t.epoch = ${epoch}::int`
}

/** The same for the outcomes of several calls, each with the epoch of its lease. The relation `o(id)` has locked the calls. */
export const underOwnLeases: Proof = sql`t.epoch = x.epoch and t.id in (select id from o)`

/**
 * The relation `o`: locks the held calls that nobody else has locked. It waits for nothing, so their order does not matter.
 * Each is looked up by itself: a plan that was made while the table was small would go on reading all of it.
 */
export function lockHeldCalls(held: readonly Held[]): SQL {
  return sql`select t.id
    from ${heldRows(held)}
    cross join lateral (
      select c.id
      from tool_calls as c
      where c.id = h.id and c.epoch = h.epoch
      for update skip locked
    ) as t`
}

/** The transaction has locked the call, or the row that owns it. */
export const underLock: Proof = sql`true`
