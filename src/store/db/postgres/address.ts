/**
 * Addresses of databases, as libpq, hosting platforms and other clients write them. What an address demands is done exactly,
 * or refused in a sentence that names the part: another server, or a connection without what was demanded, never.
 */
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { isLoopback } from '../../../core/addresses.ts'

/** Where a server listens: a socket of this machine, or a host, with the IP address to use instead of its name. */
export type ServerAddress = { path: string } | { host: string; port: number; hostaddr?: string }

/**
 * What is demanded of TLS. prefer: when the server has it; require: without a check of the certificate; verify-ca: of a
 * known authority; verify-full: and for this host.
 */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

export interface Tls {
  mode: TlsMode
  /** Files in PEM; null: the authorities that Node.js knows, no client certificate. */
  rootCert: string | null
  cert: string | null
  key: string | null
  password: string | null
  minVersion: 'TLSv1.2' | 'TLSv1.3' | null
  /** Whether the host is named in the handshake. */
  sendsName: boolean
}

export interface Address {
  /** In the order in which they are tried. */
  servers: ServerAddress[]
  user: string
  password: string | null
  database: string
  tls: Tls
  /** Options of the server's command line, which some platforms route by; null: none. */
  options: string | null
  /** The schema that Prisma's or JDBC's parameter names; null: none. */
  schema: string | null
}

/** An address that cannot be used as it is. The message continues the name of its setting and names no secret. */
export class AddressError extends Error {
  override name = 'AddressError'
}

/** Of a client, and met or harmless here: a primary is always looked for, a pooler is found out, time limits are ours. */
const withoutEffect =
  /^((fallback_)?application_name|keepalives\w*|tcp_user_timeout|connect_timeout|load_balance_hosts|sslcompression|client_encoding|gsslib|gssdelegation|krbsrvname|pgbouncer|connection_limit|pool_timeout|pool_mode|socket_timeout|statement_cache_size|prepareThreshold|uselibpqcompat|supa|workaround|tenant)$/

/** What a client of ours cannot hold; with what to do instead. */
const refused: Record<string, string> = {
  gssencmode: 'GSSAPI is not supported: remove it',
  passfile: 'is not read: put the password into the address',
  service: 'service files are not read: write the parameters into the address',
  servicefile: 'service files are not read: write the parameters into the address',
  requirepeer: 'is not supported: remove it',
  require_auth: 'is not supported: remove it',
  sslcrl: 'lists of revoked certificates are not read: remove it',
  sslcrldir: 'lists of revoked certificates are not read: remove it',
  sslidentity: 'is not supported: use sslcert and sslkey',
  sslnegotiation: 'direct TLS is not supported: remove it',
  replication: 'is not for this: remove it',
  ssl_max_protocol_version: 'is not supported: remove it',
}
const harmless = new Map([
  ['gssencmode', /^(disable|prefer)$/],
  ['require_auth', /^none$/],
  ['sslnegotiation', /^postgres$/],
])

/** The parameter of which each of libpq's variables is the default: it demands the same, or is refused like it. */
const variables: Readonly<Record<string, string>> = {
  PGHOSTADDR: 'hostaddr',
  PGOPTIONS: 'options',
  PGSERVICE: 'service',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGCHANNELBINDING: 'channel_binding',
  PGREQUIREAUTH: 'require_auth',
  PGREQUIREPEER: 'requirepeer',
  PGGSSENCMODE: 'gssencmode',
  PGREQUIRESSL: 'requiressl',
  PGSSLMODE: 'sslmode',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGSSLCRL: 'sslcrl',
  PGSSLCRLDIR: 'sslcrldir',
  PGSSLSNI: 'sslsni',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGSSLMAXPROTOCOLVERSION: 'ssl_max_protocol_version',
}
/** Other names of a parameter. */
const alike: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['ssl', 'requiressl'],
  requiressl: ['ssl', 'sslmode'],
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads `postgres://user:password@host:port,host2/database?parameter=value`. What the address leaves open comes from libpq's
 * variables (PGUSER, PGPASSWORD, PGSSLMODE, PGSSLROOTCERT …). Throws AddressError.
 */
export function readAddress(url: string, env: Env = process.env): Address {
  const { userinfo, authority, path, given } = partsOf(url)
  const own = parametersOf([...leftOpen(given, env), ...given])
  const [userPart, ...passwordParts] = (userinfo ?? '').split(':')
  const user = own.get('user') ?? (decoded(userPart!) || env['PGUSER'] || nameOfUser())
  const password = own.get('password') ?? (decoded(passwordParts.join(':')) || env['PGPASSWORD'] || null)
  const database = own.get('dbname') ?? (path || env['PGDATABASE'] || user)
  const servers = serversOf(authority, own, env)
  const schema = own.get('schema') ?? own.get('currentSchema') ?? null
  const tls = tlsOf(own, servers)
  return { servers, user, password, database, tls, options: own.get('options') ?? null, schema }
}

function partsOf(url: string) {
  if (url.includes('#')) throw new AddressError('has a "#": write it as %23')
  const found = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?@]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url)
  if (!found || /^\w+:\/\/$/.test(url))
    throw new AddressError(
      'must be postgres://user@host:port/database; several servers are host1:port1,host2:port2',
    )
  const [, userinfo, authority, path = '', query = ''] = found
  // The password ended at a "/" of its own, and what followed would be a name of a database.
  if (path.includes('@'))
    throw new AddressError('has an "@" behind the host: write "/" and "?" in a password as %2F and %3F')
  const given = query === '' ? [] : query.split('&').map((one) => one.split(/=(.*)/s, 2).map(decoded))
  return { userinfo, authority: authority!, path: decoded(path), given }
}

/** With every code that is one; a "%" of a password that was pasted as it is stays. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'))
  } catch {
    return text
  }
}

/** What variables say of parameters that were not given: each with its variable. */
function leftOpen(given: string[][], env: Env): string[][] {
  const names = new Set(given.map(([name]) => name))
  return Object.entries(variables).flatMap(([variable, name]) => {
    const value = env[variable]
    const isGiven = [name, ...(alike[name] ?? [])].some((one) => names.has(one))
    return value && !isGiven ? [[name, value, variable]] : []
  })
}

/** Those that count, each with its value. */
function parametersOf(given: string[][]): Map<string, string> {
  const own = new Map<string, string>()
  for (const [name = '', value = '', variable = name] of given) {
    if (withoutEffect.test(name) || harmless.get(name)?.test(value)) continue
    if (Object.hasOwn(refused, name)) throw new AddressError(`has ${variable}: ${refused[name]}`)
    if (!understood.has(name))
      throw new AddressError(`has the parameter ${nameOf(name)}, which is unknown: remove it`)
    own.set(name, value)
  }
  const attributes = own.get('target_session_attrs') ?? 'any'
  if (!/^(any|primary|read-write)$/.test(attributes))
    throw new AddressError(
      `has target_session_attrs=${nameOf(attributes)}: Gatehouse needs a primary, remove it`,
    )
  return own
}

const understood = new Set(
  'host hostaddr port user password dbname options schema currentSchema target_session_attrs ssl sslmode sslaccept sslrootcert sslcert sslkey sslpassword sslsni ssl_min_protocol_version channel_binding requiressl'.split(
    ' ',
  ),
)

/** A user of a container may have a number only. */
function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    throw new AddressError('names no user: postgres://user@host/database')
  }
}

/** A name as an error may show it: a part of a password that was pasted as it is may have become one. */
const nameOf = (text: string) => (/^[\w-]{1,40}$/.test(text) ? text : 'of an odd name')

function serversOf(authority: string, own: ReadonlyMap<string, string>, env: Env): ServerAddress[] {
  const written = authority === '' ? [] : authority.split(',').map(hostAndPort)
  if (written.length > 1 && written.some(({ host }) => host === ''))
    throw new AddressError('names an empty host')
  const hosts = written.some(({ host }) => host !== '') ? written.map(({ host }) => host) : null
  const names = own.get('host')?.split(',') ?? hosts ?? (env['PGHOST'] ?? '').split(',')
  const addresses = own.get('hostaddr')?.split(',')
  const ports = portsOf(written, own, env)
  if (ports.length > 1 && ports.length !== names.length)
    throw new AddressError(`has ${names.length} hosts and ${ports.length} ports`)
  if (addresses && addresses.length !== names.length)
    throw new AddressError(`has ${names.length} hosts and ${addresses.length} of hostaddr`)
  return names.map((name, i) => {
    const port = portOf((ports.length === 1 ? ports[0] : ports[i]) || '5432')
    const path = name === '' && !addresses?.[i] ? socketOf(port) : null
    if (path !== null) return { path }
    if (name.startsWith('/')) return { path: pathOf(name, port) }
    const host = name.replaceAll(/^\[|\]$/g, '') || 'localhost'
    if (!/^[\w.:%-]+$/.test(host)) throw new AddressError('names a host with characters that no host has')
    const hostaddr = addresses?.[i]
    return { host, port, ...(hostaddr ? { hostaddr } : {}) }
  })
}

/** One for all hosts, or one for each; none: that of PostgreSQL. PGPORT counts where the address has no port at all. */
function portsOf(
  written: readonly { port: string | null }[],
  own: ReadonlyMap<string, string>,
  env: Env,
): string[] {
  const given = written.some(({ port }) => port !== null) ? written.map(({ port }) => port ?? '') : null
  return own.get('port')?.split(',') ?? given ?? (env['PGPORT'] ?? '').split(',')
}

/** Where servers of packages and of the source have their socket, for clients that name no host. */
const socketFolders = ['/var/run/postgresql', '/tmp']
const pathOf = (folder: string, port: number) => `${folder}/.s.PGSQL.${port}`

/** The socket that libpq uses when no host is named; null: there is none, and it is localhost. */
function socketOf(port: number): string | null {
  return socketFolders.map((folder) => pathOf(folder, port)).find((path) => existsSync(path)) ?? null
}

function hostAndPort(text: string): { host: string; port: string | null } {
  const [, ipv6, name, port] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d*))?$/.exec(text) ?? []
  if (ipv6 === undefined && name === undefined)
    throw new AddressError(
      'names a host or port that is none: IPv6 addresses are written [::1], and ":", "/" and "?" in a password %3A, %2F and %3F',
    )
  return { host: decoded(ipv6 ?? name!), port: port || null }
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 65_535) return Number(text)
  throw new AddressError('names a port that is none: it is a number from 1 to 65535')
}

const modes: Record<string, TlsMode> = {
  disable: 'disable',
  // libpq tries it without TLS at first: with it is what nobody who allows it has forbidden.
  allow: 'prefer',
  prefer: 'prefer',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
}
/** The values of `ssl`, which JDBC, node-postgres and postgres.js have. */
const sslModes: Record<string, TlsMode> = {
  ...modes,
  true: 'verify-full',
  1: 'verify-full',
  '': 'verify-full',
  false: 'disable',
  0: 'disable',
}

function tlsOf(own: ReadonlyMap<string, string>, servers: readonly ServerAddress[]): Tls {
  const root = own.get('sslrootcert') ?? null
  const rootCert = root === 'system' ? null : root
  const minVersion = own.get('ssl_min_protocol_version') ?? null
  if (minVersion !== null && !/^TLSv1(\.[123])?$/.test(minVersion))
    throw new AddressError('has an ssl_min_protocol_version that is none: TLSv1.2 or TLSv1.3')
  const cert = own.get('sslcert') ?? null
  const key = own.get('sslkey') ?? null
  if ((cert === null) !== (key === null)) throw new AddressError('needs both of sslcert and sslkey, or none')
  return {
    mode: modeOf(own, root, servers),
    rootCert,
    cert,
    key,
    password: own.get('sslpassword') ?? null,
    minVersion: minVersion === 'TLSv1.3' ? 'TLSv1.3' : minVersion === null ? null : 'TLSv1.2',
    sendsName: own.get('sslsni') !== '0',
  }
}

/**
 * As libpq has it: an authority that is named is checked also by `require`. Unlike there, a connection within this machine
 * has no TLS unless it is demanded. Binding to the channel keeps out whoever stands between; so does the certificate.
 */
function modeOf(
  own: ReadonlyMap<string, string>,
  root: string | null,
  servers: readonly ServerAddress[],
): TlsMode {
  const isLocal = servers.every((one) => 'path' in one || isLoopback(one.hostaddr ?? one.host))
  const ssl = own.get('ssl')
  const written = own.get('sslmode') ?? null
  const demanded = written ?? ssl ?? (own.get('requiressl') === '1' ? 'require' : null)
  const known = written === null ? sslModes : modes
  const mode = demanded === null ? null : Object.hasOwn(known, demanded) ? known[demanded] : undefined
  if (mode === undefined)
    throw new AddressError('has an sslmode that is none: disable, prefer, require, verify-ca or verify-full')
  const binding = own.get('channel_binding') ?? 'prefer'
  if (!/^(disable|prefer|require)$/.test(binding))
    throw new AddressError('has a channel_binding that is none')
  if (root === 'system' || own.get('sslaccept') === 'strict' || binding === 'require') {
    if (mode === 'disable')
      throw new AddressError('demands a certificate and has sslmode=disable: remove one of them')
    return 'verify-full'
  }
  if (mode === 'require' && root !== null) return 'verify-ca'
  return mode ?? (isLocal ? 'disable' : 'prefer')
}

/**
 * The environment in which a program of PostgreSQL connects as an address says: ours, with these variables of libpq and no other
 * ones (https://www.postgresql.org/docs/current/libpq-envars.html).
 */
export function variablesOf(address: Address, env: Env = process.env): Record<string, string | undefined> {
  const { servers, user, password, database, tls, options } = address
  const hosts = servers.map((one) => ('path' in one ? dirname(one.path) : one.host))
  const ports = servers.map((one) => ('path' in one ? one.path.split('.').at(-1)! : String(one.port)))
  const addresses = servers.map((one) => ('path' in one ? '' : (one.hostaddr ?? '')))
  const isChecked = tls.mode === 'verify-ca' || tls.mode === 'verify-full'
  const given = {
    PGHOST: hosts.join(','),
    PGPORT: ports.join(','),
    PGHOSTADDR: addresses.some(Boolean) ? addresses.join(',') : null,
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    PGOPTIONS: options,
    PGTARGETSESSIONATTRS: 'read-write',
    PGSSLMODE: tls.mode,
    PGSSLROOTCERT: isChecked ? (tls.rootCert ?? env['NODE_EXTRA_CA_CERTS'] ?? 'system') : null,
    PGSSLCERT: tls.cert,
    PGSSLKEY: tls.key,
    PGSSLMINPROTOCOLVERSION: tls.minVersion,
    PGCLIENTENCODING: 'UTF8',
  }
  const others = Object.entries(env).filter(([name]) => !/^PG[A-Z]/.test(name))
  return Object.fromEntries([
    ...others,
    ...Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  ])
}
