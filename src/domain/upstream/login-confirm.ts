/** A person looks at a login and confirms it, which ties it to that person's browser. */
import { sql } from 'drizzle-orm'
import { sha256Hex } from '../../core/signing.ts'
import { query } from '../../store/db/database.ts'
import type { Services } from '../access/index.ts'
import { isState, note, opened } from './login-row.ts'

/** What a person is asked to confirm, in the words of whoever named the things. */
export interface LoginQuestion {
  tool: string
  project: string
  /** The name of the key or person that began it. */
  startedBy: string
  /** The host of the authorization server. */
  host: string
}

/** What a login is for; null when there is none of that state any more. Changes nothing. */
export async function readLogin(services: Services, state: string): Promise<LoginQuestion | null> {
  if (!isState(state)) return null
  const [row] = await query<Omit<LoginQuestion, 'host'> & { id: string; sealed: string }>(
    services.db,
    sql`select l.upstream_id as id, l.sealed, coalesce(t.name, l.upstream_id) as tool,
        coalesce(p.name, l.project_id) as project, coalesce(k.name, s.name, l.started_by) as "startedBy"
      from upstream_logins as l left join tools as t on t.id = l.upstream_id
        left join projects as p on p.id = l.project_id left join api_keys as k on k.id = l.started_by
        left join subjects as s on s.id = l.started_by
      where l.state_hash = ${sha256Hex(state)} and l.expires_at > now()`,
  )
  if (!row) return null
  const { id, sealed, ...named } = row
  const { url } = opened(services, id, sealed)
  // One that was begun by an older version has no page: it is begun anew.
  return URL.canParse(url) ? { ...named, host: new URL(url).host } : null
}

/**
 * A person confirms a login in this browser, named by the secret of its cookie: answers where to go. Only this browser can
 * return from there, so that a link sent to somebody attaches nobody's account unasked. Null when there is no such login,
 * or another browser has confirmed it.
 */
export async function confirmLogin(
  services: Services,
  state: string,
  browser: string,
): Promise<string | null> {
  if (!isState(state)) return null
  const browserHash = sha256Hex(browser)
  const [row] = await query<{ id: string; projectId: string; startedBy: string; sealed: string }>(
    services.db,
    sql`update upstream_logins set browser_hash = ${browserHash} where state_hash = ${sha256Hex(state)}
        and expires_at > now() and (browser_hash is null or browser_hash = ${browserHash})
      returning upstream_id as id, project_id as "projectId", started_by as "startedBy", sealed`,
  )
  if (!row) return null
  await note(services, row, row.startedBy, 'confirmed')
  return opened(services, row.id, row.sealed).url
}
