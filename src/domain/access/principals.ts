/** Principals by id, with the names that a caller may see. */
import { query } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { reaches, type Ctx } from './context.ts'
import { eachSeen, holds } from './permission.ts'
import { allows } from './policy.ts'
import { principalKind, type PrincipalKind } from './subjects.ts'

/** Who did something, for people to read. */
export interface NamedPrincipal {
  id: string
  kind: PrincipalKind
  /** Null when the key or person does not exist for the caller, or may not be read by it. */
  name: string | null
}

interface Row {
  id: string
  projectId: string
  name: string
}

/**
 * The principals with these ids, in their order; there is one for every id. A caller sees its own name, and with the
 * action `keys:Get` those of its project. One statement.
 */
export async function namePrincipals(ctx: Ctx, ids: readonly string[]): Promise<NamedPrincipal[]> {
  const rows = new Map((await loadNames(ctx, ids)).map((row) => [row.id, row]))
  return ids.map((id) => {
    const row = rows.get(id)
    return { id, kind: principalKind(id), name: row && maySee(ctx, row) ? row.name : null }
  })
}

function maySee(ctx: Ctx, { id, projectId }: Row): boolean {
  const { principal } = ctx
  if (id === principal.id) return true
  return reaches(ctx, projectId) && holds(principal, {}) && allows(principal.policy, 'keys:Get', `key/${id}`)
}

/** Persons by id, null for what does not exist for the caller. Action `keys:Get` on each. */
export async function getPersons(ctx: Ctx, ids: readonly string[]): Promise<(NamedPrincipal | null)[]> {
  const rows = (await loadNames(ctx, ids)).filter(({ id }) => principalKind(id) === 'PERSON')
  const seen = await eachSeen(ctx, ids, rows, 'keys:Get', ({ id }) => `key/${id}`)
  return seen.map((row) => row && { id: row.id, kind: 'PERSON', name: row.name })
}

async function loadNames({ db }: Ctx, ids: readonly string[]): Promise<Row[]> {
  const wanted = [...new Set(ids)].filter((id) => principalKind(id) !== 'SYSTEM')
  if (wanted.length === 0) return []
  return query(
    db,
    sql`select id, project_id as "projectId", name from api_keys where id in ${wanted}
      union all
      select id, project_id as "projectId", name from subjects where id in ${wanted}`,
  )
}
