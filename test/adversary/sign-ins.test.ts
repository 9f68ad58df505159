/** Sign-ins that are kept to be exchanged: they are nowhere in the clear, open for nobody else, and go to no other server. */
import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createLog } from '../../src/logging.ts'
import { resealTokens } from '../../src/domain/upstream/index.ts'
import { databaseTokenStore } from '../../src/domain/upstream/oauth/tokens.ts'
import { atomically, query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { tableTraits } from '../../src/store/db/tables/all-traits.ts'
import { startExchangeServer } from '../support/exchange.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { oidcAt } from '../support/identity-provider.ts'
import { startLoopback } from '../support/loopback.ts'
import { call, type OwnLogins } from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import {
  addSignedIn,
  begin,
  openExchanging,
  saveExchangeSecrets,
  signIn,
  startExchangingProvider,
  type ExchangingProvider,
  type SignedIn,
} from '../support/signed-in.ts'
import { protect } from '../support/authorization-server.ts'
import { freePort } from '../support/upstream-servers.ts'

describe.skipIf(!hasPeers)('sign-ins that are exchanged', () => {
  let h: Harness
  let provider: ExchangingProvider
  let logins: OwnLogins
  let ada: SignedIn
  let bob: SignedIn
  let lines = ''

  beforeAll(async () => {
    const into = new Writable({
      write(chunk, _encoding, done) {
        lines += String(chunk)
        done()
      },
    })
    const port = await freePort()
    const oidc = oidcAt(port)
    oidc.client.scopes += ' offline_access'
    h = await openHarness({ oidc }, { log: createLog('debug', into) })
    provider = await startExchangingProvider(port, [h.url], true)
    await saveExchangeSecrets(h)
  })
  afterAll(async () => {
    await logins?.close()
    await h?.stop()
    await provider?.close()
  })

  const rowsOf = async (person: SignedIn) =>
    query<{ id: string }>(h.app.services.db, sql`select id from person_logins where person = ${person.id}`)

  test('nothing is kept in a project without an upstream that exchanges sign-ins', async () => {
    ada = await addSignedIn(h, provider, 'early')
    expect(await rowsOf(ada)).toEqual([])
  })

  describe('with an upstream', () => {
    beforeAll(async () => {
      logins = await openExchanging(h, provider.issuer)
    })
    beforeEach(async () => {
      logins.calls.length = 0
      ada = await addSignedIn(h, provider, 'ada')
      bob = await addSignedIn(h, provider, 'bob')
      for (const one of [ada, bob]) await begin(h, logins, one)
    })

    const storedOf = (person: SignedIn, id = 'sign-in', services = h.app.services) =>
      databaseTokenStore(services, { id, projectId: '', person: person.id }).read()

    test('no token is in the log, in an answer, or in any column of any table', async () => {
      expect((await call(h, logins, ada, 'x')).status).toBe('SUCCEEDED')
      const believing = logins.server.guard!
      logins.server.guard = async (request, response, body) => {
        if (await believing(request, response, body)) return true
        response.writeHead(500).end(`${request.headers.authorization} is not liked`)
        return true
      }
      const failed = await call(h, logins, ada, 'fails')
      logins.server.guard = believing
      const signedIn = (await storedOf(ada)).tokens!
      const exchanged = (await storedOf(ada, logins.toolId)).tokens!
      const secrets = [
        signedIn.access_token,
        signedIn.id_token!,
        signedIn.refresh_token!,
        exchanged.access_token,
      ]
      for (const secret of secrets) {
        expect(secret).toMatch(/^.{20}/)
        expect(lines).not.toContain(secret)
        expect(JSON.stringify(failed)).not.toContain(secret)
      }
      for (const { name } of tableTraits) {
        const rows = await query<{ text: string }>(
          h.app.services.db,
          sql`select row_to_json(t)::text as text from ${sql.raw(name)} as t`,
        )
        for (const secret of secrets) expect(JSON.stringify(rows), name).not.toContain(secret)
      }
    })

    test('what is sealed for one person opens for no other, and opens under a new master key', async () => {
      const { services } = h.app
      const before = await storedOf(ada)
      const other = Buffer.alloc(32, 9)
      await atomically(services.db, async (tx) => {
        await resealTokens(tx, services.masterKey, other)
        const after = await storedOf(ada, 'sign-in', { ...services, db: tx, masterKey: other })
        expect(after.tokens).toEqual(before.tokens)
        await resealTokens(tx, other, services.masterKey)
      })
      await query(
        services.db,
        sql`update person_logins set sealed = (
            select sealed from person_logins where upstream_id = 'sign-in' and person = ${ada.id}
          ) where upstream_id = 'sign-in' and person = ${bob.id}`,
      )
      await query(
        services.db,
        sql`update person_logins set id = 'anew', sealed = null, version = version + 1
          where upstream_id = ${logins.toolId} and person = ${bob.id}`,
      )
      expect((await call(h, logins, bob, 'stolen')).status).toBe('ERRORED')
      expect(logins.calls).toEqual([])
      await signIn(h, provider, 'bob', bob.tab)
      expect((await call(h, logins, bob, 'own')).status).toBe('SUCCEEDED')
      expect(logins.calls).toMatchObject([{ account: 'bob' }])
    })

    test('a server that names another authorization server gets nothing, though that one calls itself the provider', async () => {
      const requests: string[] = []
      const thief = await startLoopback((request, response) => {
        requests.push(`${request.method} ${request.url} ${request.body}`)
        const metadata = {
          issuer: provider.issuer,
          authorization_endpoint: `${thief.url}/authorize`,
          token_endpoint: `${thief.url}/token`,
          response_types_supported: ['code'],
        }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
      })
      const tool = await openExchanging(h, provider.issuer)
      try {
        for (const person of [ada, bob]) await begin(h, tool, person)
        protect(tool.server, provider.issuer, { issuer: thief.url })
        expect(await call(h, tool, bob, 'x')).toMatchObject({ status: 'ERRORED' })
        expect(requests.length).toBeGreaterThan(0)
        expect(requests.filter((one) => !one.startsWith('GET'))).toEqual([])
      } finally {
        await tool.close()
        await thief.close()
      }
    })

    test('an assertion is good for one server alone', async () => {
      const trusted = { issuer: provider.issuer, jwks: `${provider.issuer}/jwks` }
      const one = await startExchangeServer(trusted, { assertions: true })
      const two = await startExchangeServer(trusted, { assertions: true })
      const tool = await openExchanging(h, one.issuer)
      try {
        for (const person of [ada, bob]) await begin(h, tool, person)
        expect((await call(h, tool, ada, 'one')).status).toBe('SUCCEEDED')
        expect(provider.exchanges.done.at(-1)).toMatchObject({ audience: one.issuer })
        // The other server is named by what the first one serves: it is not the configured issuer.
        protect(tool.server, one.issuer, { issuer: two.issuer })
        expect((await call(h, tool, bob, 'two')).errorCode).toBe('issuer_mismatch')
        expect(two.requests.filter((line) => line.startsWith('POST'))).toEqual([])
      } finally {
        await tool.close()
        await Promise.all([one.close(), two.close()])
      }
    })

    test('the sign-in goes when the person is erased, and with the tool what it was exchanged for', async () => {
      await call(h, logins, ada, 'x')
      const own = await openExchanging(h, provider.issuer)
      await begin(h, own, bob)
      await call(h, own, bob, 'x')
      const before = (await rowsOf(bob)).length
      await h.mutate('deleteTool', { id: own.toolId }, 'tool { id }')
      expect(await rowsOf(bob)).toHaveLength(before - 1)
      await own.close()
      await h.mutate('removeRequesterData', { requesterId: ada.id }, 'removal { id }')
      await expect.poll(() => rowsOf(ada)).toEqual([])
    })
  })
})
