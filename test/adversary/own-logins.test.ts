/** Logins of single persons: no link attaches the account of somebody else, and no token is where it does not belong. */
import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '../../src/logging.ts'
import { resealTokens } from '../../src/domain/upstream/index.ts'
import { databaseTokenStore } from '../../src/domain/upstream/oauth/tokens.ts'
import { loadRows } from '../../src/domain/upstream/state.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { tableTraits } from '../../src/store/db/tables/all-traits.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { addPerson, call, logIn, openOwnLogins, type OwnLogins, type Person } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import { startModern } from '../support/upstream-servers.ts'

describe.skipIf(!hasPeers)('logins of single persons', () => {
  let h: Harness
  let logins: OwnLogins
  let ada: Person
  let bob: Person
  let lines = ''

  beforeAll(async () => {
    const into = new Writable({
      write(chunk, _encoding, done) {
        lines += String(chunk)
        done()
      },
    })
    h = await openHarness({}, { log: createLog('debug', into) })
    logins = await openOwnLogins(h)
  })
  afterAll(async () => {
    await logins?.close()
    await h?.stop()
  })
  beforeEach(async () => {
    logins.calls.length = 0
    ada = await addPerson(h, 'ada')
    bob = await addPerson(h, 'bob')
  })

  const storedOf = async (person: Person, services = h.app.services) => {
    const [row] = await loadRows(services.db, [logins.toolId])
    return databaseTokenStore(services, { ...row!, person: person.keyId }).read()
  }

  test('only a browser that is signed in as the person can finish the login', async () => {
    await logIn(h, logins, bob)
    for (const as of [null, bob]) {
      const page = await logIn(h, logins, ada, as)
      expect(page.status).toBe(403)
      expect(page.text).toContain('not signed in to Gatehouse as that person')
    }
    expect((await call(h, logins, ada, 'x')).status).toBe('AWAITING_APPROVAL')
  })

  test('a token of one upstream is never sent to another one of the same authorization server', async () => {
    const second = await openOwnLogins(h, { issuer: logins.issuer })
    try {
      await logIn(h, logins, ada)
      await logIn(h, second, bob)
      expect(await call(h, second, ada, 'confused')).toMatchObject({ status: 'AWAITING_APPROVAL' })
      await logIn(h, second, ada)
      await call(h, logins, ada, 'one')
      await call(h, second, ada, 'two')
      const [mine] = logins.calls
      expect(second.calls.every(({ token }) => token !== mine!.token)).toBe(true)
      // What is sealed for one opens for no other.
      await query(
        h.app.services.db,
        sql`update person_logins set sealed = (
            select sealed from person_logins where upstream_id = ${logins.toolId} and person = ${ada.keyId}
          ), id = 'swapped' where upstream_id = ${second.toolId} and person = ${ada.keyId}`,
      )
      expect((await call(h, second, ada, 'swapped')).status).toBe('ERRORED')
      expect(second.calls.map(({ message }) => message)).not.toContain('swapped')
    } finally {
      await query(h.app.services.db, sql`delete from person_logins where id = 'swapped'`)
      await second.close()
    }
  })

  test('the tokens of a first login are sent to no other server that has none', async () => {
    const { server } = await openOwnLogins(h, { issuer: logins.issuer }).then(async (first) => {
      await logIn(h, first, ada)
      return first
    })
    const other = await startModern()
    const sent: (string | undefined)[] = []
    other.guard = async (request) => {
      sent.push(request.headers.authorization)
      return false
    }
    try {
      const config = { mcp: { url: other.url } }
      const { tool } = await h.mutate('createTool', { name: 'open_to_all', config }, 'tool { id }')
      const status = `{ tool(id: "${tool.id}") { ... on McpTool { upstream { status } } } }`
      await expect.poll(async () => (await h.gql(status)).data['tool'].upstream.status).toBe('CONNECTED')
      expect(sent.length).toBeGreaterThan(0)
      expect(sent.filter((one) => one !== undefined)).toEqual([])
    } finally {
      await other.kill()
      await server.kill()
    }
  })

  test('no token is in the log, or in any column of any table', async () => {
    await logIn(h, logins, ada)
    await call(h, logins, ada, 'x')
    const believing = logins.server.guard!
    logins.server.guard = async (request, response, body) => {
      if (await believing(request, response, body)) return true
      response.writeHead(500).end(`${request.headers.authorization} is not liked`)
      return true
    }
    await call(h, logins, ada, 'fails')
    logins.server.guard = believing
    const { tokens, version } = await storedOf(ada)
    expect(version).toBeGreaterThan(0)
    const secrets = [
      tokens!.access_token,
      tokens!.refresh_token!,
      ...logins.calls.map(({ token }) => token.slice(7)),
    ]
    expect(secrets.length).toBeGreaterThan(2)
    for (const secret of secrets) expect(lines).not.toContain(secret)
    for (const { name } of tableTraits) {
      const rows = await query<{ text: string }>(
        h.app.services.db,
        sql`select row_to_json(t)::text as text from ${sql.raw(name)} as t`,
      )
      for (const secret of secrets) expect(JSON.stringify(rows), name).not.toContain(secret)
    }
  })

  test('tokens open under a new master key, and each only for its own person', async () => {
    await logIn(h, logins, ada)
    const { services } = h.app
    const other = Buffer.alloc(32, 9)
    const before = await storedOf(ada)
    await atomically(services.db, (tx) => resealTokens(tx, services.masterKey, other))
    expect((await storedOf(ada, { ...services, masterKey: other })).tokens).toEqual(before.tokens)
    await expect(storedOf(ada)).rejects.toThrow()
    await atomically(services.db, (tx) => resealTokens(tx, other, services.masterKey))
    await query(
      services.db,
      sql`insert into person_logins (id, upstream_id, project_id, person, connected_at, sealed, version)
        select 'stolen', upstream_id, project_id, ${bob.keyId}, now(), sealed, version from person_logins
        where person = ${ada.keyId}`,
    )
    await expect(storedOf(bob)).rejects.toThrow()
    expect((await call(h, logins, bob, 'stolen')).status).toBe('ERRORED')
    expect(logins.calls).toEqual([])
  })

  test('the login goes when the person is erased', async () => {
    await logIn(h, logins, ada)
    await h.mutate('removeRequesterData', { requesterId: ada.keyId }, 'removal { id }')
    const left = () =>
      query(h.app.services.db, sql`select 1 from person_logins where person = ${ada.keyId}`).then(
        (rows) => rows.length,
      )
    await expect.poll(left).toBe(0)
    expect((await call(h, logins, ada, 'after')).status).toBe('AWAITING_APPROVAL')
  })
})
