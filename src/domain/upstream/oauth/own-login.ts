/** The operations with which a person logs in to an upstream that is called with the login of each person, and ends that login. */
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { atomically, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import {
  assertMay,
  isSignedIn,
  isSubject,
  operation,
  personFor,
  placeUpstream,
  reachable,
  recordChange,
  type Ctx,
} from '../../access/index.ts'
import { madeDue } from '../../../store/work/work.ts'
import { loadRows, ofUpstream, toolOfUpstream, type UpstreamRow } from '../state.ts'
import { startLogin } from './logins.ts'
import { beginExchange, wakeQuestions } from './person-logins.ts'

export const logInToUpstream = operation({
  name: 'logInToUpstream',
  does: 'Starts the login of the caller at the server of a tool whose calls run with the login of each person.',
  permission: 'tools:Call',
  input: ofUpstream,
  payload: z
    .object({
      url: z
        .string()
        .describe(
          'The URL to open within ten minutes, in a browser that is signed in to Gatehouse as the same person. It works ' +
            'once.',
        ),
    })
    .describe('The URL at which the login begins.'),
  refuses: ['NOT_FOUND', 'UPSTREAM'],
  async run(ctx, { toolId }) {
    const own = await findOwn(ctx, toolId)
    return {
      url: await (own.config.auth?.kind === 'token_exchange' ? useSignIn(ctx, own) : startLogin(ctx, own)),
    }
  },
})

export const logOutOfUpstream = operation({
  name: 'logOutOfUpstream',
  does: 'Ends the login of the caller at the server of a tool, and deletes its tokens. Later calls ask for a new login.',
  permission: 'tools:Call',
  input: ofUpstream,
  payload: toolOfUpstream,
  refuses: ['NOT_FOUND'],
  async run(ctx, { toolId }) {
    const { id, projectId, person } = await findOwn(ctx, toolId)
    await atomically(ctx.db, async (tx) => {
      await query(
        tx,
        sql`delete from person_logins as l where ${placeUpstream} = ${id} and l.person = ${person}`,
      )
      await query(tx, sql`delete from upstream_logins where upstream_id = ${id} and person = ${person}`)
      const details = { person, disconnected: true }
      await recordChange(tx, ctx, { projectId, action: 'tools:Connect', resource: `tool/${id}`, details })
    })
    return { tool: toolId }
  },
})

/**
 * Has the sign-in of the person exchanged for the upstream from now on: who made the tool cannot have that done. Returns the page of the upstream, behind that of the
 * sign-in when there is none.
 */
async function useSignIn(ctx: Ctx, own: UpstreamRow & { person: string }): Promise<string> {
  const { db, identity, publicUrl } = ctx
  const page = `/upstreams/${own.id}`
  const signIn = `${publicUrl()}/session/login?to=${encodeURIComponent(page)}`
  if (!isSubject(own.person)) {
    if (identity?.signsIn) return signIn
    throw new AppError(
      'INVALID',
      'This tool needs a sign-in at the identity provider, and your key is no account there: call with a token of the provider.',
    )
  }
  const [now] = await query<{ isSignedIn: boolean }>(
    db,
    sql`select ${isSignedIn(sql`${own.person}::text`)} as "isSignedIn"`,
  )
  await beginExchange(db, own, now!.isSignedIn)
  if (!now!.isSignedIn) return signIn
  await query(db, sql`update upstreams set ${madeDue} where id = ${own.id} and status <> 'CONNECTED'`)
  await wakeQuestions(ctx, own.id, own.person)
  return publicUrl() + page
}

/** The upstream with the person behind the caller, who may call its tool. */
async function findOwn(ctx: Ctx, id: string): Promise<UpstreamRow & { person: string }> {
  const [found] = await loadRows(ctx.db, [id])
  const row = reachable(ctx, found, 'upstream', id)
  await assertMay(ctx, 'tools:Call', row.projectId, `tool/${id}`)
  if (!row.config.login)
    throw new AppError('INVALID', 'This tool has one login for everybody: see connectUpstream.')
  const person = await personFor(ctx.db, ctx.principal.id)
  if (person === null)
    throw new AppError(
      'INVALID',
      'This API key is that of a program, which has no login: use a key of a person.',
    )
  return { ...row, person }
}

/** The people who have logged in to an upstream with logins of their own. */
export interface PersonLogins {
  count: number
  /** When the caller did; null when it has not. */
  ownAt: Date | null
}

/** Those of these upstreams, in their order. Checks no permission. */
export async function loadPersonLogins(ctx: Ctx, ids: readonly string[]): Promise<PersonLogins[]> {
  const person = await personFor(ctx.db, ctx.principal.id)
  const rows = await query<{ id: string; count: number; ownMs: number | null }>(
    ctx.db,
    sql`select upstream_id as id, count(*)::int as count,
        (extract(epoch from max(connected_at) filter (where person = ${person}::text)) * 1000)::float8 as "ownMs"
      from person_logins
      where upstream_id in ${[...ids]} and connected_at is not null
      group by upstream_id`,
  )
  const found = new Map(
    rows.map(({ id, count, ownMs }) => [id, { count, ownAt: ownMs === null ? null : new Date(ownMs) }]),
  )
  return ids.map((id) => found.get(id) ?? { count: 0, ownAt: null })
}
