/** The tokens of an upstream: encrypted in the database, renewed by one replica at a time. */
import { setTimeout as pause } from 'node:timers/promises'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/client'
import { readJson, writeJson } from '../../../core/json.ts'
import { atomically, jsonb, nowPlus, query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { upstreamTokens } from '../../../store/db/tables/upstreams.ts'
import { assignments, type Values } from '../../../store/db/rows.ts'
import { loginPlace, type Services } from '../../access/index.ts'
import { seal, unseal } from '../../secrets/index.ts'
import type { UpstreamConfig } from '../config.ts'
import { UpstreamFault } from '../fault.ts'

/** Tokens with the issuer that issued them: they are sent to no other. */
export type IssuedTokens = OAuthTokens & { issuer?: string }
export type IssuedClient = OAuthClientInformationMixed & { issuer?: string }

export interface StoredTokens {
  tokens: IssuedTokens | null
  /** The client registration at the authorization server. */
  client: IssuedClient | null
  /** Scopes that calls required and the tokens lack: the next login requests them too. */
  wanted: string[]
  metadataUrl: string | null
  /** Rises whenever the tokens change. */
  version: number
  /** Milliseconds until the access token expires; null when the server did not say. */
  leftMs: number | null
  /** Milliseconds since the tokens were stored. */
  ageMs: number
}

/** Where tokens belong: to an upstream, or to the sign-in of a person (`signInId`). */
export interface TokenPlace {
  id: string
  projectId: string
  /** Whose own tokens they are; absent: those that everybody shares. */
  person?: string
  /** The agents that the tokens name; absent: none. */
  actor?: string
}

/** The owner of the tokens: a saved upstream, or a configuration under trial. */
export interface TokenOwner extends TokenPlace {
  config: UpstreamConfig
}

/** The fields to change; absent ones keep their value. */
export type StoredChange = Partial<Pick<StoredTokens, 'tokens' | 'client' | 'wanted' | 'metadataUrl'>>

/** Stores tokens: in the database, or in memory for a trial. */
export interface TokenStore {
  read(): Promise<StoredTokens>
  /** Writes at once. A change of the tokens raises the version. */
  save(change: StoredChange): Promise<void>
  /**
   * Runs `work` while no other process does, unless the version is no longer `seen`: then another process has done it
   * and nothing runs. The `save` given to `work` writes nothing once another process has taken over.
   */
  exclusively(
    seen: number,
    work: (stored: StoredTokens, save: TokenStore['save']) => Promise<void>,
  ): Promise<void>
}

/** Time limit of one renewal, in milliseconds; a process that died blocks the others no longer than this. */
const renewalMs = 25_000
const pollMs = 50
/** What every place without a row shares: a change of it would give the tokens of one server to all others. */
const nothing: Readonly<StoredTokens> = Object.freeze({
  tokens: null,
  client: null,
  wanted: [],
  metadataUrl: null,
  version: 0,
  leftMs: null,
  ageMs: Infinity,
})

interface Sealed {
  tokens: IssuedTokens | null
  wanted: string[]
}

interface TokenRow {
  sealed: string | null
  client: string | null
  metadataUrl: string | null
  version: number
  leftMs: number | null
  ageMs: number
}

const columns = sql`sealed, client, metadata_url as "metadataUrl", version,
  (extract(epoch from expires_at - now()) * 1000)::float8 as "leftMs",
  (extract(epoch from now() - updated_at) * 1000)::float8 as "ageMs"`

/**
 * Encrypts the tokens of all upstreams under another master key, in the caller's transaction. Returns how many there
 * were. Deletes open logins: people start them again.
 */
export async function resealTokens(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  await query(tx, sql`delete from upstream_logins`)
  const shared = await query<SealedRow>(
    tx,
    sql`select upstream_id as id, sealed, client from upstream_tokens for update`,
  )
  const own = await query<SealedRow>(
    tx,
    sql`select upstream_id as id, person, sealed, client from person_logins for update`,
  )
  for (const { sealed, client, ...owner } of [...shared, ...own]) {
    const { table, which, context } = placeOf(owner)
    const anew = (text: string | null) =>
      text === null ? null : seal(to, unseal(from, text, context), context)
    await query(
      tx,
      sql`update ${table} set sealed = ${anew(sealed)}::text, client = ${anew(client)}::text where ${which}`,
    )
  }
  return shared.length + own.length
}

type SealedRow = Omit<TokenPlace, 'projectId'> & Pick<TokenRow, 'sealed' | 'client'>

/** Where the tokens are stored, and what they are sealed for: those of one person open as nobody else's. */
function placeOf({ id, person, actor = '' }: Omit<TokenPlace, 'projectId'>): {
  table: SQL
  which: SQL
  context: string
} {
  return person === undefined
    ? { table: sql`upstream_tokens`, which: sql`upstream_id = ${id}`, context: `upstream/${id}` }
    : {
        table: sql`person_logins`,
        which: sql`upstream_id = ${loginPlace(id, actor)} and person = ${person}`,
        context: `upstream/${loginPlace(id, actor)}/${person}`,
      }
}

/** The sealed form of tokens. */
export function sealTokens(
  { masterKey }: Pick<Services, 'masterKey'>,
  place: TokenPlace,
  tokens: IssuedTokens | null,
  wanted: string[] = [],
): string {
  return seal(masterKey, writeJson({ tokens, wanted } satisfies Sealed), placeOf(place).context)
}

/**
 * Stores the tokens of a saved upstream as long as it has this URL and `auth`: they belong to no other server. Else `save`
 * throws an UpstreamFault, and within `exclusively` writes nothing. Those of a sign-in belong to none.
 */
export function databaseTokenStore(services: Services, owner: TokenOwner | TokenPlace): TokenStore {
  const { db } = services
  const { table, which } = placeOf(owner)
  return {
    async read() {
      const [row] = await query<TokenRow>(db, sql`select ${columns} from ${table} where ${which}`)
      return row ? openTokens(services, owner, row) : { ...nothing }
    },
    async save(change) {
      await ensureRow(db, owner)
      if (await saveTokens(services, owner, change, null)) return
      throw new UpstreamFault('authorization_failed', 'The upstream was changed meanwhile.')
    },
    async exclusively(seen, work) {
      await ensureRow(db, owner)
      const taken = await takeLock(db, owner, seen)
      if (!taken) return
      try {
        await work(
          openTokens(services, owner, taken),
          async (change) => void (await saveTokens(services, owner, change, taken.asker)),
        )
      } finally {
        await releaseLock(db, owner, taken.asker)
      }
    },
  }
}

function openTokens({ masterKey }: Services, owner: TokenPlace, row: TokenRow): StoredTokens {
  const { context } = placeOf(owner)
  return {
    ...nothing,
    ...(row.sealed ? (readJson(unseal(masterKey, row.sealed, context)) as Sealed) : {}),
    client: row.client ? (readJson(unseal(masterKey, row.client, context)) as IssuedClient) : null,
    metadataUrl: row.metadataUrl,
    version: row.version,
    leftMs: row.leftMs,
    ageMs: row.ageMs,
  }
}

/** False when nothing was written. The lock keeps what another process writes at the same time. */
function saveTokens(
  services: Services,
  owner: TokenOwner | TokenPlace,
  change: StoredChange,
  asker: number | null,
): Promise<boolean> {
  const { table, which, context } = placeOf(owner)
  return atomically(services.db, async (tx) => {
    const [row] = await query<TokenRow>(
      tx,
      sql`
        select ${columns}
        from ${table}
        where ${which}
          ${asker === null ? sql`` : sql`and asker = ${asker}`}
          and ${'config' in owner ? isSame(owner) : sql`true`}
        for update`,
    )
    if (!row) return false
    const { tokens, wanted, client, metadataUrl } = { ...openTokens(services, owner, row), ...change }
    const values: Values<typeof upstreamTokens> = {
      sealed: sealTokens(services, owner, tokens, wanted),
      metadataUrl,
      client: client ? seal(services.masterKey, writeJson(client), context) : null,
      ...('tokens' in change ? renewed(tokens) : {}),
    }
    await query(tx, sql`update ${table} set ${assignments(upstreamTokens, values)} where ${which}`)
    return true
  })
}

const isSame = ({ id, config }: TokenOwner): SQL => sql`exists (
    select 1
    from upstreams
    where id = ${id}
      and config->>'url' = ${config.url}
      and config->'auth' = ${jsonb(config.auth)}
  )`

/** The columns that change with the tokens; the server may not say when they expire. */
function renewed(tokens: IssuedTokens | null): Values<typeof upstreamTokens> {
  const seconds = tokens?.expires_in
  return {
    version: sql`version + 1`,
    updatedAt: sql`now()`,
    expiresAt: seconds === undefined ? null : nowPlus(seconds * 1000),
  }
}

async function ensureRow(db: Database, { id, projectId, person, actor = '' }: TokenPlace): Promise<void> {
  await query(
    db,
    person === undefined
      ? sql`insert into upstream_tokens (upstream_id, project_id) values (${id}, ${projectId}) on conflict do nothing`
      : sql`insert into person_logins (id, upstream_id, project_id, person)
          values (gen_random_uuid()::text, ${loginPlace(id, actor)}, ${projectId}, ${person}) on conflict do nothing`,
  )
}

/**
 * Waits until no other process renews; null when the tokens changed meanwhile. Holds no lock during network requests.
 */
async function takeLock(
  db: Database,
  owner: TokenPlace,
  seen: number,
): Promise<(TokenRow & { asker: number }) | null> {
  const { table, which } = placeOf(owner)
  for (const until = Date.now() + renewalMs; Date.now() < until;) {
    const [taken] = await query<TokenRow & { asker: number }>(
      db,
      sql`
        update ${table}
        set asker = asker + 1,
          asked_until = ${nowPlus(renewalMs)}
        where ${which}
          and version = ${seen}
          and (asked_until is null or asked_until < now())
        returning asker, ${columns}`,
    )
    if (taken) return taken
    const [now] = await query<{ version: number }>(db, sql`select version from ${table} where ${which}`)
    if (now?.version !== seen) return null
    await pause(pollMs)
  }
  throw new UpstreamFault('timeout', 'The authorization server did not answer in time.')
}

async function releaseLock(db: Database, owner: TokenPlace, asker: number): Promise<void> {
  const { table, which } = placeOf(owner)
  await query(db, sql`update ${table} set asked_until = null where ${which} and asker = ${asker}`)
}

/** Stores the tokens of a trial in memory. */
export function memoryTokenStore(): TokenStore {
  let stored: StoredTokens = { ...nothing }
  const save = async (change: StoredChange) => {
    const given = 'tokens' in change
    stored = {
      ...stored,
      ...change,
      ...(given ? { version: stored.version + 1, leftMs: null, ageMs: 0 } : {}),
    }
  }
  return {
    read: async () => stored,
    save,
    exclusively: (seen, work) => (stored.version === seen ? work(stored, save) : Promise.resolve()),
  }
}
