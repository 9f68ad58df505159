/** Saves and deletes upstreams with the tool that they belong to, in its transaction. */
import { eq } from 'drizzle-orm'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { upstreamLogins, upstreams, upstreamTokens } from '../../store/db/tables/upstreams.ts'
import { madeDue } from '../../store/work/work.ts'
import { placeUpstream, type Services } from '../access/index.ts'
import type { UpstreamConfig } from './config.ts'

/**
 * Inserts or updates the configuration; an unchanged one writes nothing. A change resets status, protocol and error,
 * refreshes the upstream at once, and retires every open connection. It deletes tokens and logins when the URL or
 * `auth` changed, and those of persons also when `login` is shared. The catalog stays while the URL is the same. The caller publishes `{kind: 'work', table:
 * 'upstreams'}` after the commit.
 */
export async function saveUpstream(
  tx: Database,
  { id, projectId, config }: { id: string; projectId: string; config: UpstreamConfig },
): Promise<void> {
  const changed = await query<{ version: number; sameAuth: boolean }>(
    tx,
    sql`
      with old as (
        select config
        from upstreams
        where id = ${id}
      )
      insert into upstreams as u (id, project_id, config, wake_at)
      values (${id}, ${projectId}, ${jsonb(config)}, now())
      on conflict (id) do update
      set config = excluded.config,
        config_version = u.config_version + 1,
        epoch = u.epoch + 1,
        wake_at = now(),
        status = 'PENDING',
        verdict = null,
        verdict_at = null,
        error = null,
        failures = 0,
        retry_at = null,
        catalog = case when u.config->>'url' = excluded.config->>'url' then u.catalog end,
        catalog_hash = case when u.config->>'url' = excluded.config->>'url' then u.catalog_hash end,
        updated_at = now()
      where u.config is distinct from excluded.config
      returning
        config_version as version,
        coalesce((
          select old.config->>'url' = u.config->>'url'
            and old.config->'auth' is not distinct from u.config->'auth'
          from old
        ), false) as "sameAuth"`,
  )
  if (!changed[0] || changed[0].version === 1) return
  if (!changed[0].sameAuth) await forgetTokens(tx, id)
  if (!changed[0].sameAuth || !config.login) await forgetPersonLogins(tx, id)
}

/** Deletes the upstream with its tokens and logins. Idempotent. */
export async function dropUpstream(tx: Database, id: string): Promise<void> {
  await forgetTokens(tx, id)
  await forgetPersonLogins(tx, id)
  await tx.delete(upstreams).where(eq(upstreams.id, id))
}

/** Deletes tokens and logins: they belong to one URL and one way to authorize. */
export async function forgetTokens(tx: Database, id: string): Promise<void> {
  await tx.delete(upstreamTokens).where(eq(upstreamTokens.upstreamId, id))
  await tx.delete(upstreamLogins).where(eq(upstreamLogins.upstreamId, id))
}

async function forgetPersonLogins(tx: Database, id: string): Promise<void> {
  await query(tx, sql`delete from person_logins as l where ${placeUpstream} = ${id}`)
}

/**
 * Makes upstreams due for a refresh, and says so; one that is under way is not written, because it may have read what was
 * before. Returns the hash of what is known of each.
 */
export async function wakeUpstreams(
  { db, pubsub }: Pick<Services, 'db' | 'pubsub'>,
  which: SQL,
): Promise<{ catalogHash: string | null }[]> {
  const rows = await query<{ catalogHash: string | null }>(
    db,
    sql`update upstreams set ${madeDue} where ${which} returning catalog_hash as "catalogHash"`,
  )
  if (rows.length > 0) pubsub.publish([{ kind: 'work', table: 'upstreams' }])
  return rows
}
