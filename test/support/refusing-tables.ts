/** Tables that refuse writes, by a trigger of the database itself: as with a full disk, or with what it cannot store. */
import type { Deployment } from './deployment.ts'

export interface Refusal {
  table: string
  /** When a row is written; by default when it is inserted. */
  on?: 'insert' | 'update'
  /** A condition on `new` and `old`; by default every row. */
  when?: string
  /** The SQLSTATE of the error: 53100 is a full disk. */
  state: string
  /** How often it refuses; by default always. Counted also where the transaction is undone. */
  times?: number
}

let count = 0

/** Refuses these writes until the returned function is called. */
export async function refuseWrites(
  { rows }: Pick<Deployment, 'rows'>,
  { table, on = 'insert', when = 'true', state, times = 1_000_000 }: Refusal,
): Promise<{ times(): Promise<number>; end(): Promise<void> }> {
  const name = `refuse_${++count}`
  await rows(`create sequence ${name}`)
  await rows(`create function ${name}() returns trigger language plpgsql as $$ begin
    if nextval('${name}') <= ${times} then raise exception 'refused by the test' using errcode = '${state}'; end if;
    return new; end $$`)
  await rows(
    `create trigger ${name} before ${on} on ${table} for each row when (${when}) execute function ${name}()`,
  )
  return {
    times: async () => {
      const [row] = await rows<{ n: number }>(
        `select case when is_called then last_value else 0 end::float8 as n from ${name}`,
      )
      return row!.n
    },
    end: async () => void (await rows(`drop trigger ${name} on ${table}`)),
  }
}
