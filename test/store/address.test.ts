/** Addresses of databases as platforms and clients write them: read exactly, or refused with the part. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { readAddress, variablesOf } from '../../src/store/db/postgres/address.ts'
import { freePort } from '../support/processes.ts'

const read = (url: string, env: Record<string, string> = {}) => {
  const { servers, user, password, database, tls } = readAddress(url, env)
  const where = servers.map((one) =>
    'path' in one ? one.path : `${one.host} ${one.port}${one.hostaddr ? ` ${one.hostaddr}` : ''}`,
  )
  return [where.join(', '), user, password, database, tls.mode]
}
const me = userInfo().username

test.each<[string, (string | null)[]]>([
  ['postgres://u:p@db/app', ['db 5432', 'u', 'p', 'app', 'prefer']],
  ['postgresql://u@db:6432', ['db 6432', 'u', null, 'u', 'prefer']],
  ['postgres://localhost/app', ['localhost 5432', me, null, 'app', 'disable']],
  // Sockets
  ['postgres:///app?host=/run/postgresql', ['/run/postgresql/.s.PGSQL.5432', me, null, 'app', 'disable']],
  ['postgres://u@%2Frun%2Fpg:6000/app', ['/run/pg/.s.PGSQL.6000', 'u', null, 'app', 'disable']],
  // Other hosts by parameters are those that are connected to
  ['postgres://u@wrong/app?host=right&port=5433', ['right 5433', 'u', null, 'app', 'prefer']],
  ['postgres://u@db/app?hostaddr=10.0.0.1', ['db 5432 10.0.0.1', 'u', null, 'app', 'prefer']],
  ['postgres://db?user=u&password=p&dbname=app', ['db 5432', 'u', 'p', 'app', 'prefer']],
  // IPv6, several hosts
  ['postgres://u@[::1]/app', ['::1 5432', 'u', null, 'app', 'disable']],
  ['postgres://u@[2001:db8::1]:5433/app', ['2001:db8::1 5433', 'u', null, 'app', 'prefer']],
  ['postgres://u@a:1,b:2/app', ['a 1, b 2', 'u', null, 'app', 'prefer']],
  ['postgres://u@a,b/app?port=7', ['a 7, b 7', 'u', null, 'app', 'prefer']],
  // Passwords, encoded and as they are
  ['postgres://u:p%40%2F%3A%25s@db/app', ['db 5432', 'u', 'p@/:%s', 'app', 'prefer']],
  ['postgres://u:100%@db/app', ['db 5432', 'u', '100%', 'app', 'prefer']],
  ['postgres://u:a@b:c@db/app', ['db 5432', 'u', 'a@b:c', 'app', 'prefer']],
  ['postgres://u:a+b@db/my%20app', ['db 5432', 'u', 'a+b', 'my app', 'prefer']],
  // Neon, Supabase, RDS, Prisma, Heroku
  [
    'postgresql://o:p@ep-x.neon.tech/neondb?sslmode=require&channel_binding=require',
    ['ep-x.neon.tech 5432', 'o', 'p', 'neondb', 'verify-full'],
  ],
  [
    'postgres://postgres.abc:p@aws-0.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1',
    ['aws-0.pooler.supabase.com 6543', 'postgres.abc', 'p', 'postgres', 'prefer'],
  ],
  [
    'postgres://u:p@x.rds.amazonaws.com:5432/app?sslmode=verify-full&sslrootcert=/etc/rds.pem',
    ['x.rds.amazonaws.com 5432', 'u', 'p', 'app', 'verify-full'],
  ],
  ['postgres://u:p@db/app?schema=public&sslaccept=strict', ['db 5432', 'u', 'p', 'app', 'verify-full']],
  [
    'postgres://u:p@ec2.compute.amazonaws.com/d123?sslmode=no-verify',
    ['ec2.compute.amazonaws.com 5432', 'u', 'p', 'd123', 'require'],
  ],
  ['postgres://u:p@db/app?ssl=true', ['db 5432', 'u', 'p', 'app', 'verify-full']],
  // What an authority that is named demands
  [
    'postgres://db/app?user=u&sslmode=require&sslrootcert=/ca.pem',
    ['db 5432', 'u', null, 'app', 'verify-ca'],
  ],
  ['postgres://u@db/app?sslmode=require&sslrootcert=system', ['db 5432', 'u', null, 'app', 'verify-full']],
  [
    'postgres://u@db/app?target_session_attrs=read-write&application_name=x&keepalives_idle=5&gssencmode=disable',
    ['db 5432', 'u', null, 'app', 'prefer'],
  ],
])('%s', (url, expected) => expect(read(url)).toEqual(expected))

test('a host that is left out is the socket of this machine where there is one, as in libpq', async () => {
  const port = await freePort()
  expect(read(`postgres://u@:${port}/app`)[0]).toBe(`localhost ${port}`)
  const path = `/tmp/.s.PGSQL.${port}`
  const server = createServer().listen(path)
  await once(server, 'listening')
  try {
    for (const url of [`postgres://u@:${port}/app`, `postgres:///app?user=u&port=${port}`])
      expect(read(url)).toEqual([path, 'u', null, 'app', 'disable'])
    expect(read(`postgres://u@:${port}/app`, { PGHOST: 'db' })[0]).toBe(`db ${port}`)
    expect(variablesOf(readAddress(`postgres://u@:${port}/app`, {}), {})).toMatchObject({
      PGHOST: '/tmp',
      PGPORT: String(port),
    })
  } finally {
    server.close()
  }
})

test("what an address leaves open comes from libpq's variables", () => {
  const env = {
    PGHOST: 'h',
    PGPORT: '1',
    PGUSER: 'u',
    PGPASSWORD: 'p',
    PGDATABASE: 'd',
    PGSSLMODE: 'require',
  }
  expect(read('postgres://?application_name=x', env)).toEqual(['h 1', 'u', 'p', 'd', 'require'])
  expect(read('postgres://me:mine@db:5/app?sslmode=disable', env)).toEqual([
    'db 5',
    'me',
    'mine',
    'app',
    'disable',
  ])
  const rooted = readAddress('postgres://db?sslmode=verify-ca', { PGSSLROOTCERT: '/ca.pem' })
  expect(rooted.tls).toMatchObject({ mode: 'verify-ca', rootCert: '/ca.pem' })
  // Each host has its own port, and an address that names a port leaves none open.
  expect(read('postgres://u@/d', { PGHOST: 'a,b', PGPORT: '1,2' })[0]).toBe('a 1, b 2')
  expect(read('postgres://u@a,b:2/d', { PGPORT: '1' })[0]).toBe('a 5432, b 2')
})

test("libpq's variables demand the same as parameters, or are refused like them", () => {
  const mode = (url: string, env: Record<string, string>) => readAddress(url, env).tls.mode
  // What Neon's console shows
  const neon = { PGSSLMODE: 'require', PGCHANNELBINDING: 'require' }
  expect(mode('postgres://u:p@db/app', neon)).toBe('verify-full')
  expect(mode('postgres://u:p@db/app', { PGREQUIRESSL: '1' })).toBe('require')
  expect(readAddress('postgres://u@db/app', { PGSSLMINPROTOCOLVERSION: 'TLSv1.3' }).tls.minVersion).toBe(
    'TLSv1.3',
  )
  expect(read('postgres://u@db/app', { PGHOSTADDR: '10.0.0.1' })[0]).toBe('db 5432 10.0.0.1')
  // No variable takes away what the address demands.
  expect(mode('postgres://u@db/app?ssl=true', { PGSSLMODE: 'disable' })).toBe('verify-full')
  const refused = { PGSERVICE: 'x', PGREQUIREAUTH: 'scram-sha-256', PGGSSENCMODE: 'require', PGSSLCRL: '/x' }
  for (const [name, value] of Object.entries(refused))
    expect(() => readAddress('postgres://u@db/app', { [name]: value })).toThrow(`has ${name}: `)
  expect(() => readAddress('postgres://u@db/app', { PGTARGETSESSIONATTRS: 'standby' })).toThrow(/primary/)
})

test.each([
  ['postgres://', /must be postgres/],
  ['mysql://db/app', /must be postgres/],
  ['host=db user=u', /must be postgres/],
  ['postgres://db1,/x', /an empty host/],
  ['postgres://db:port/x', /host or port that is none/],
  ['postgres://db:0/x', /a port that is none/],
  ['postgres://::1/x', /IPv6 addresses are written \[::1\]/],
  // Passwords that end the address somewhere else
  ['postgres://u:12/3@db/app', /"@" behind the host/],
  ['postgres://u:a/b@db/app', /"@" behind the host/],
  ['postgres://u:12?b@db/app', /parameter of an odd name/],
  ['postgres://u:1#2@db/app', /"#"/],
  ['postgres://a,b,c/app?port=1,2', /3 hosts and 2 ports/],
  ['postgres://db/app?sslmode=requre', /an sslmode that is none/],
  ['postgres://db/app?sslmode=constructor', /an sslmode that is none/],
  ['postgres://db/app?constructor=1', /parameter constructor, which is unknown/],
  ['postgres://db/app?sslmode=disable&channel_binding=require', /remove one of them/],
  ['postgres://db/app?sslcert=/a.pem', /both of sslcert and sslkey/],
  ['postgres://db/app?sslcrl=/crl.pem', /sslcrl: lists of revoked certificates/],
  ['postgres://db/app?gssencmode=require', /GSSAPI/],
  ['postgres://db/app?passfile=/x', /passfile/],
  ['postgres://db/app?target_session_attrs=standby', /needs a primary/],
  ['postgres://db/app?statement_timeout=5', /parameter statement_timeout, which is unknown/],
])('%s is refused in a sentence that names no secret', (url, message) => {
  let error: Error | null = null
  try {
    loadConfig({ DATABASE_URL: url })
  } catch (thrown) {
    error = thrown as Error
  }
  expect(error?.message).toMatch(/^The configuration has 1 mistake:\n- DATABASE_URL /)
  expect(error?.message).toMatch(message)
})

test('files that an address names are read before anything else is done', () => {
  const DATABASE_URL = 'postgres://db/app?sslmode=verify-full&sslrootcert=/nowhere/ca.pem'
  expect(() => loadConfig({ DATABASE_URL })).toThrow(
    'DATABASE_URL names the file /nowhere/ca.pem, which cannot be read',
  )
})

test("another client's schema is the setting's, or refused", () => {
  const DATABASE_URL = 'postgres://db/app?schema=tools'
  expect(() => loadConfig({ DATABASE_URL })).toThrow(
    /DATABASE_URL names the schema of another client: set GATEHOUSE_DATABASE_SCHEMA/,
  )
  expect(loadConfig({ DATABASE_URL, GATEHOUSE_DATABASE_SCHEMA: 'tools' }).databaseSchema).toBe('tools')
  // Those of PostgreSQL itself: a superuser could write there.
  for (const schema of ['information_schema', 'pg_catalog'])
    expect(() => loadConfig({ DATABASE_URL, GATEHOUSE_DATABASE_SCHEMA: schema })).toThrow('one of PostgreSQL')
  for (const name of ['Tools', 'pg_tools', 'a"b', 'x'.repeat(64)])
    expect(() => loadConfig({ DATABASE_URL: 'postgres://db', GATEHOUSE_DATABASE_SCHEMA: name })).toThrow(
      /GATEHOUSE_DATABASE_SCHEMA must be a name/,
    )
  expect(() => loadConfig({ GATEHOUSE_DATABASE_SCHEMA: 'tools' })).toThrow(
    'GATEHOUSE_DATABASE_SCHEMA requires DATABASE_URL',
  )
})
