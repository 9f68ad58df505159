/** TLS to PostgreSQL, as libpq means it: a cluster with a certificate of its own, for one name or one address. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startFault } from '../../src/start-fault.ts'
import { connect } from '../../src/store/db/connect.ts'
import { query } from '../../src/store/db/database.ts'
import { dumpDatabase } from '../../src/store/db/postgres/programs.ts'
import { sql } from '../../src/store/db/sql.ts'
import { openCertificates } from '../support/certificates.ts'
import { hasClusters, startCluster, type Cluster } from '../support/cluster.ts'

const certificates = openCertificates()
const { file } = certificates

describe.skipIf(!hasClusters)('TLS', { timeout: 180_000 }, () => {
  let named: Cluster
  beforeAll(async () => {
    certificates.makeAuthority('authority')
    certificates.makeAuthority('other')
    certificates.make('server', 'DNS:localhost', 'authority')
    certificates.make('postgres', 'DNS:client', 'authority')
    certificates.giveToPostgres('server.key')
    named = await startCluster({
      ssl: 'on',
      ssl_cert_file: `'${file('server.pem')}'`,
      ssl_key_file: `'${file('server.key')}'`,
      ssl_ca_file: `'${file('authority.pem')}'`,
    })
  }, 180_000)
  afterAll(async () => {
    await named?.remove()
    certificates.remove()
  })

  const at = (host: string, query_: string) =>
    `postgres://postgres@${host}:${new URL(named.url).port}/postgres?${query_}`

  /** Whether the connection has TLS; or why there is none. */
  async function secured(url: string): Promise<boolean | string> {
    const connection = await connect({ kind: 'postgres', url, poolSize: 1 })
    try {
      const text = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
      return (await query<{ ssl: boolean }>(connection.db, text))[0]!.ssl
    } catch (error) {
      return startFault(error)
    } finally {
      await connection.close()
    }
  }
  const ca = () => `sslrootcert=${file('authority.pem')}`

  test('is what the mode says', async () => {
    expect(await secured(at('localhost', 'sslmode=disable'))).toBe(false)
    expect(await secured(at('localhost', ''))).toBe(false)
    expect(await secured(at('localhost', 'sslmode=prefer'))).toBe(true)
    expect(await secured(at('localhost', 'sslmode=require'))).toBe(true)
    expect(await secured(at('localhost', 'ssl=no-verify'))).toBe(true)
    expect(await secured(at('localhost', `sslmode=verify-full&${ca()}`))).toBe(true)
    expect(await secured(at('127.0.0.1', `sslmode=verify-ca&${ca()}`))).toBe(true)
    expect(await secured(at('127.0.0.1', `sslmode=require&${ca()}`))).toBe(true)
  })

  test('refuses a certificate for another host, also where that is an address, or of another authority', async () => {
    expect(await secured(at('127.0.0.1', `sslmode=verify-full&${ca()}`))).toMatch(/altnames|127\.0\.0\.1/)
    expect(await secured(at('localhost', 'sslmode=verify-full'))).toMatch(
      /because: .*(self-signed|unable to)/,
    )
    for (const mode of ['require', 'verify-ca', 'verify-full'])
      expect(await secured(at('localhost', `sslmode=${mode}&sslrootcert=${file('other.pem')}`))).toMatch(
        /because: /,
      )
    expect(await secured(at('localhost', 'sslmode=require&channel_binding=require'))).toMatch(/because: /)
  })

  test('a server without TLS is refused where that is demanded', async () => {
    const plain = await startCluster()
    try {
      const url = (mode: string) => `${plain.url}?sslmode=${mode}`
      expect(await secured(url('require'))).toMatch(/has no TLS, and the address demands it/)
      expect(await secured(url('prefer'))).toBe(false)
    } finally {
      await plain.remove()
    }
  })

  test('programs of PostgreSQL are led to the same server in the same way', async () => {
    const whole = { url: at('localhost', `sslmode=verify-full&${ca()}`), schema: 'public' }
    await dumpDatabase(whole, file('dump'))
    const wrong = { url: at('127.0.0.1', `sslmode=verify-full&${ca()}`), schema: 'public' }
    await expect(dumpDatabase(wrong, file('other.dump'))).rejects.toThrow(/does not match host name/)
  })

  test('a client certificate is the password of who is asked for one', async () => {
    const pair = `sslcert=${file('postgres.pem')}&sslkey=${file('postgres.key')}`
    const found = async (more: string) => {
      const url = at('localhost', `sslmode=verify-full&${ca()}${more}`)
      const connection = await connect({ kind: 'postgres', url, poolSize: 1 })
      const text = sql`select client_dn as dn from pg_stat_ssl where pid = pg_backend_pid()`
      const rows = await query<{ dn: string | null }>(connection.db, text)
      await connection.close()
      return rows[0]!.dn
    }
    expect(await found('')).toBeNull()
    expect(await found(`&${pair}`)).toBe('/CN=postgres')
  })

  test('the key of a client may have a password, which programs get in no argument and no file that stays', async () => {
    certificates.encrypt('postgres.key', 'open = me', 'locked.key')
    const pair = `sslcert=${file('postgres.pem')}&sslkey=${file('locked.key')}`
    const withKey = (password: string) =>
      at('localhost', `sslmode=verify-full&${ca()}&${pair}&sslpassword=${encodeURIComponent(password)}`)
    expect(await secured(withKey('open = me'))).toBe(true)
    expect(await secured(withKey('wrong'))).toMatch(/DATABASE_URL names.*\n {2}because: .*decrypt/)
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-own-'))
    vi.stubEnv('TMPDIR', folder)
    try {
      await dumpDatabase({ url: withKey('open = me'), schema: 'public' }, file('locked.dump'))
      await expect(
        dumpDatabase({ url: withKey('wrong'), schema: 'public' }, file('none.dump')),
      ).rejects.toThrow(/could not load private key file/)
      expect(readdirSync(folder)).toEqual([])
    } finally {
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true })
    }
  })
})
