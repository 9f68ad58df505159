/**
 * What a process remembers of rows, and the proof that it is still so. A judgement by memory counts when the statement
 * that writes proves that everything it was made from is still so; else nothing is written, the rows are read, and it
 * is judged again.
 */
import { AppError } from '../../core/errors.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { BoundedMap } from '../../core/bounded.ts'
import type { Database } from '../../store/db/database.ts'

/** Something that a judgement was made from is not so any more. Nothing was written. */
export class StaleReadError extends Error {
  override name = 'StaleReadError'
}

/** What a judgement was made from. A fact that is absent or null was read for this request, and is not proved. */
export interface Basis {
  /** A key that is neither revoked nor expired. */
  keyId?: string | null | undefined
  /** The end of a token, which has not come. ISO 8601, or `-infinity` for a token that is never valid. */
  until?: string | null | undefined
  /** A session that has not ended. */
  sessionId?: string | null | undefined
  /** The version of the agent. */
  agentId?: string | null | undefined
  agentVersion?: number | null | undefined
  /** The version of the tool. */
  toolId?: string | null | undefined
  toolVersion?: number | null | undefined
  /** The hash of what the upstream of the tool offers; empty when its lists were never read. */
  catalogHash?: string | null | undefined
  /** The caller and the hash of its request: `awaitedCall` selects no call of it. */
  awaitedBy?: string | null | undefined
  awaitedHash?: string | null | undefined
}

type Fact = keyof Basis

const types: Record<Fact, string> = {
  keyId: 'text',
  until: 'timestamptz',
  sessionId: 'text',
  agentId: 'text',
  agentVersion: 'integer',
  toolId: 'text',
  toolVersion: 'integer',
  catalogHash: 'text',
  awaitedBy: 'text',
  awaitedHash: 'text',
}
const facts = Object.keys(types) as Fact[]
const casts = mapFacts((fact) => sql.raw(`::${types[fact]}`))

/** Selects a row when the key is neither revoked nor expired, by the clock of the database. */
export function validKey(id: string | SQL): SQL {
  return sql`select 1 from api_keys where id = ${id} and revoked_at is null
    and (expires_at is null or expires_at > clock_timestamp())`
}

/** Selects a row when the session has not ended. */
export function liveSession(id: string | SQL): SQL {
  return sql`select 1 from sessions where id = ${id} and expires_at > clock_timestamp()`
}

/** A condition: the moment has not come. */
export function notOver(until: string | SQL): SQL {
  return sql`${until}::timestamptz > clock_timestamp()`
}

/**
 * Selects the id of the newest call of this caller with this request that still waits, or whose outcome was not fetched within
 * a day after it was settled.
 */
export function awaitedCall(by: string | SQL, hash: string | SQL): SQL {
  return sql`select id from tool_calls where requested_by = ${by} and request_hash = ${hash} and awaited
    and (settled_at is null or settled_at > now() - interval '1 day') order by created_at desc limit 1`
}

type Values = Record<Fact, SQL>

/**
 * The only place that says when a fact holds, over the values of a basis: parameters, or columns of a relation. A version is
 * compared with what a subquery returns: of an `exists` the plan for a small table reads the table whole, and goes on to.
 */
const conditions: Partial<Record<Fact, (at: Values) => SQL>> = {
  keyId: (at) => sql`exists (${validKey(at.keyId)})`,
  until: (at) => notOver(at.until),
  sessionId: (at) => sql`exists (${liveSession(at.sessionId)})`,
  agentVersion: (at) => sql`(select version from agents where id = ${at.agentId}) = ${at.agentVersion}`,
  toolVersion: (at) => sql`(select version from tools where id = ${at.toolId}) = ${at.toolVersion}`,
  catalogHash: (at) =>
    sql`(select coalesce(catalog_hash, '') from upstreams where id = ${at.toolId}) = ${at.catalogHash}`,
  awaitedHash: (at) => sql`(${awaitedCall(at.awaitedBy, at.awaitedHash)}) is null`,
}
const proved = Object.keys(conditions) as (keyof typeof conditions)[]

/**
 * A condition of a statement: the basis holds in its snapshot; null or false when it does not. It locks nothing. Undefined when
 * nothing is to be proved.
 */
export function prove(basis: Basis): SQL | undefined {
  const named = proved.filter((fact) => (basis[fact] ?? null) !== null)
  if (named.length === 0) return undefined
  const at = mapFacts((fact) => sql`${basis[fact] ?? null}${casts[fact]}`)
  return sql.join(
    named.map((fact) => conditions[fact]!(at)),
    sql` and `,
  )
}

const columns = mapFacts((fact) => `proved_${fact.toLowerCase()}`)

/** The columns of a relation `x` that hold the basis of each of its rows, with their SQL types. */
export const basisColumns: Record<string, string> = Object.fromEntries(
  facts.map((fact) => [columns[fact], types[fact]]),
)

/** The values of these columns. */
export function basisRow(basis: Basis): Record<string, string | number | null> {
  return Object.fromEntries(facts.map((fact) => [columns[fact], basis[fact] ?? null]))
}

/** `prove` as a condition on a row of `x`. */
export const basisHolds: SQL = allHold(mapFacts((fact) => sql.raw(`x.${columns[fact]}`)))

function allHold(at: Values): SQL {
  return sql.join(
    proved.map((fact) => sql`(${at[fact]} is null or ${conditions[fact]!(at)})`),
    sql` and `,
  )
}

function mapFacts<Value>(make: (fact: Fact) => Value): Record<Fact, Value> {
  return Object.fromEntries(facts.map((fact) => [fact, make(fact)])) as Record<Fact, Value>
}

interface Proved<Known, Judged, Result> {
  /** What this process remembers; null when it must read. */
  remembered: Known | null
  /** The same as it is now. Throws when the one who asks may not act any more. `isAgain`: a proof did not hold. */
  read(isAgain: boolean): Promise<Known>
  judge(known: Known): Promise<Judged>
  /**
   * Writes under a proof of what was judged. StaleReadError, with nothing written, when the proof does not hold. `isAgain`: it was
   * tried before for this request.
   */
  write(judged: Judged, isAgain: boolean): Promise<Result>
}

/** Rows that were just read may change as well: they are read at most this often for one request, which is CONFLICT then. */
const mostReads = 3

/**
 * Judges by what is remembered and writes, or reads, judges and writes again: when the proof does not hold, and when memory
 * leads to a refusal. A denial is final, because it is audited where it is made: remember no row that may be denied by what
 * has changed.
 */
export async function withProof<Known, Judged, Result>({
  remembered,
  read,
  judge,
  write,
}: Proved<Known, Judged, Result>): Promise<Result> {
  let writes = 0
  const put = (judged: Judged) => write(judged, writes++ > 0)
  if (remembered !== null) {
    const judged = await orNull(judge(remembered), (error) => isStale(error) || isRefusal(error))
    const done = judged && (await orNull(put(judged.it), isStale))
    if (done) return done.it
  }
  for (let reads = 1; ; reads++) {
    const done = await orNull(
      read(writes > 0)
        .then(judge)
        .then(put),
      isStale,
    )
    if (done) return done.it
    if (reads === mostReads)
      throw new AppError(
        'CONFLICT',
        'What the request relies on has changed several times meanwhile: send it again.',
      )
  }
}

const isStale = (error: unknown) => error instanceof StaleReadError
const isRefusal = (error: unknown) => error instanceof AppError && error.code !== 'FORBIDDEN'

async function orNull<Result>(
  doing: Promise<Result>,
  isNothing: (error: unknown) => boolean,
): Promise<{ it: Result } | null> {
  try {
    return { it: await doing }
  } catch (error) {
    if (isNothing(error)) return null
    throw error
  }
}

/** What a process remembers of the rows of a database, so that it need not read them again. */
export interface Memory<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  delete(key: string): void
}

/**
 * A memory for each database, of at most `max` values; the one that was set first is dropped first. A transaction has a
 * memory of its own, which is empty. Values can be out of date: whoever uses one proves it in the statement that relies
 * on it, or remembers only what never changes.
 */
export function memoryOf<Value>(max: number): (db: Database) => Memory<Value> {
  const all = new WeakMap<Database, Memory<Value>>()
  return (db) => {
    const known = all.get(db)
    if (known) return known
    const made = new BoundedMap<string, Value>(max)
    all.set(db, made)
    return made
  }
}
