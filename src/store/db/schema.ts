/** The schema of the tables: made where that is allowed, used as it is found else, and shown to nobody else. */
import { query, sqlState, type Database } from './database.ts'
import { sql } from './sql.ts'
import { UnusableDatabaseError } from './storage-error.ts'

const setting = 'GATEHOUSE_DATABASE_SCHEMA'

/** Creates the schema when it does not exist. Throws UnusableDatabaseError when that is not allowed. */
export async function openSchema(db: Database, schema: string): Promise<void> {
  const [row] = await query<{ is: boolean; role: string; name: string }>(
    db,
    sql`select to_regnamespace(${schema}) is not null as is, quote_ident(current_user) as role, quote_ident(${schema}) as name`,
  )
  if (row!.is) return
  await query(db, sql.raw(`create schema if not exists "${schema}"`)).catch((error: unknown) => {
    if (sqlState(error) !== '42501') throw error
    throw new UnusableDatabaseError(
      `${setting} names the schema ${schema}, which does not exist, and the role ${row!.role} may not create it: ` +
        `CREATE SCHEMA ${row!.name} AUTHORIZATION ${row!.role}.`,
    )
  })
}

/** Throws UnusableDatabaseError when the role may not create tables in the schema. */
export async function refuseUnwritable(db: Database, schema: string): Promise<void> {
  const [row] = await query<{ may: boolean; role: string; name: string }>(
    db,
    sql`select has_schema_privilege(${schema}, 'CREATE') as may, quote_ident(current_user) as role, quote_ident(${schema}) as name`,
  )
  if (row!.may) return
  throw new UnusableDatabaseError(
    `The role ${row!.role} may not create tables in the schema ${schema}: GRANT CREATE ON SCHEMA ${row!.name} TO ${row!.role}, ` +
      `or name a schema of its own with ${setting}.`,
  )
}

/**
 * Throws UnusableDatabaseError when the schema has a table of one of these names: before the first migration, it is another
 * application's.
 */
export async function refuseTakenNames(
  db: Database,
  schema: string,
  tables: readonly string[],
): Promise<void> {
  const rows = await query<{ name: string }>(
    db,
    sql`select relname::text as name from pg_class
      where relnamespace = current_schema()::regnamespace and relname in ${[...tables]} order by relname`,
  )
  if (rows.length === 0) return
  throw new UnusableDatabaseError(
    `The schema ${schema} has what Gatehouse did not make under names that it needs (${rows.map(({ name }) => name).join(', ')}): ` +
      `name a schema of its own with ${setting}.`,
  )
}

/**
 * Takes from others what the default privileges of the database or the schema gave them on these new tables, as Supabase's
 * give everything to `anon`, whom it lets in without a key. Who was given a right on a table itself keeps it. Returns the
 * names of those who lost rights. Call it in the transaction that creates the tables: nobody reads them before.
 */
export async function withholdTables(db: Database, tables: readonly string[]): Promise<string[]> {
  if (tables.length === 0) return []
  const rows = await query<{ name: string; kind: string; role: string | null }>(
    db,
    sql`with ours as (
        select c.oid, c.relname, c.relkind, c.relowner, c.relnamespace, c.relacl from pg_class as c
        where c.relnamespace = current_schema()::regnamespace and (c.relname in ${[...tables]} or c.oid in (
          select d.objid from pg_depend as d join pg_class as t on t.oid = d.refobjid
          where d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') and t.relname in ${[...tables]}
            and t.relnamespace = current_schema()::regnamespace))
      ), given as (
        select distinct o.relname, o.relkind, a.grantee from ours as o, aclexplode(o.relacl) as a
        where a.grantee <> o.relowner and exists (
          select from pg_default_acl as d, aclexplode(d.defaclacl) as p
          where d.defaclrole = o.relowner and d.defaclnamespace in (0, o.relnamespace) and p.grantee = a.grantee)
      )
      select relname::text as name, relkind::text as kind, rolname::text as role
      from given left join pg_roles on pg_roles.oid = grantee where relkind in ('r', 'p', 'S')`,
  )
  for (const { name, kind, role } of rows)
    await query(
      db,
      sql.raw(
        `revoke all on ${kind === 'S' ? 'sequence' : 'table'} "${name}" from ${role === null ? 'public' : `"${role.replaceAll('"', '""')}"`}`,
      ),
    )
  return rows.map(({ role }) => role ?? 'PUBLIC')
}
