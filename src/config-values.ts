/** Forms of single settings. Pure: their messages name no value. */
import { z } from 'zod'
import { accessSync, constants } from 'node:fs'
import { isIP } from 'node:net'
import { hostNameOf, hostPortOf } from './core/addresses.ts'
import { AddressError, readAddress } from './store/db/postgres/address.ts'

/** One of these words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(', ')}`)

const yes = ['true', '1', 'yes', 'on']
const no = ['false', '0', 'no', 'off']

/** What people and platforms write for true and false, in any case. */
export const flag = z
  .string()
  .toLowerCase()
  .refine((value) => [...yes, ...no].includes(value), 'must be true or false')
  .transform((value) => yes.includes(value))

/** A URL of one of these protocols. */
export const url = (protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL beginning with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  })

/**
 * An address of one server of Redis; what stands behind the host is the number of a database. The client would take any parameter for
 * an option of its own, in place of those that are set here: only what hosting platforms write, the family of the address, is left.
 */
export const redisUrl = url(['redis:', 'rediss:']).pipe(
  z.string().superRefine((value, at) => {
    const { pathname, search, hash, hostname } = new URL(value)
    const faults = {
      'has something behind the host that is no number of a database: redis://user:password@host:6379/0':
        !/^(?:\/\d{0,5})?$/.test(pathname),
      'has a "#": write it as %23': hash !== '' || value.includes('#'),
      'has a "%" that begins no code: write it as %25': /%(?![\da-f]{2})/i.test(value) || !isDecodable(value),
      'names several servers: Sentinel and Cluster are not supported': hostname.includes(','),
      'has parameters: remove them (a database is the number behind the host, TLS is rediss://)':
        !/^(?:\?(?:family=[046])?)?$/.test(search),
    }
    for (const [message, isSo] of Object.entries(faults)) if (isSo) at.addIssue({ code: 'custom', message })
  }),
)

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

/** An origin: scheme, host and port. Every page, API and link of a server is below the root of one. */
export const origin = url(['http:', 'https:']).transform((value, at) => {
  const { pathname, search, hash, hostname, origin: whole } = new URL(value)
  const isOne = pathname === '/' && search === '' && hash === '' && !value.includes('@')
  if (isOne && !hostname.includes('*')) return whole
  at.addIssue({
    code: 'custom',
    message: isOne
      ? 'has a "*", which stands for nothing here: write each origin out'
      : 'must be an origin, such as https://gatehouse.example.com: a path is not served, give it a host of its own',
  })
  return z.NEVER
})

/** An address that can be used as it is, with every file that it names. */
export const databaseUrl = z.string().transform((value, at) => {
  try {
    const { tls } = readAddress(value)
    for (const file of [tls.rootCert, tls.cert, tls.key]) if (file !== null) accessSync(file, constants.R_OK)
    return value
  } catch (error) {
    const { path } = error as NodeJS.ErrnoException
    at.addIssue({
      code: 'custom',
      message: error instanceof AddressError ? error.message : `names the file ${path}, which cannot be read`,
    })
    return z.NEVER
  }
})

/** The name of a schema of the database. */
export const schemaName = z
  .string()
  .regex(
    /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/,
    'must be a name of small letters, digits and "_", at most 63, that is not one of PostgreSQL (pg_…, information_schema)',
  )

/** Addresses that name another schema than the setting does: their parameter is that of other clients. */
export function schemaMistakes(
  set: { DATABASE_URL?: string; DIRECT_URL?: string },
  schema = 'public',
): string[] {
  return (['DATABASE_URL', 'DIRECT_URL'] as const)
    .filter((name) => set[name] && (readAddress(set[name]).schema ?? schema) !== schema)
    .map(
      (name) =>
        `${name} names the schema of another client: set GATEHOUSE_DATABASE_SCHEMA, or remove that parameter`,
    )
}

/** A whole number from `min` to `max`. */
export const number = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max))

/** Items that are separated by commas. */
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
)

/** A name or an address to listen on; brackets around IPv6, as URLs have them, are taken off. */
export const listenHost = z.string().transform((value, at) => {
  if (isIP(value) !== 0 || hostNameOf(value) !== null) return value.replaceAll(/^\[|\]$/g, '')
  at.addIssue({
    code: 'custom',
    message: 'must be an address or a name alone, such as 0.0.0.0 or ::; the port is GATEHOUSE_PORT',
  })
  return z.NEVER
})

/** Names in a Host header, which has them as URLs do; `*` is any. */
export const hostNames = list.transform((names, at) =>
  names.map((name) => {
    const host = name === '*' ? name : hostNameOf(name)
    if (host !== null) return host
    at.addIssue({
      code: 'custom',
      message: 'must be names of hosts, each written out, without scheme and port, or * for all',
    })
    return z.NEVER
  }),
)

/** `host:port` pairs. */
export const hostPorts = list.refine((pairs) => pairs.every((pair) => hostPortOf(pair) !== null), {
  message: 'must be host:port pairs separated by commas, such as 10.0.0.7:8080,ollama:11434',
})

/** `host:port`. */
export const listenAddress = z.string().transform((value, at) => {
  const found = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(value)
  if (found && Number(found[3]) <= 65_535) return { host: (found[1] ?? found[2])!, port: Number(found[3]) }
  at.addIssue({ code: 'custom', message: 'must be host:port, such as 127.0.0.1:9464' })
  return z.NEVER
})

/** 32 bytes in base64 or hex. */
export const key32 = z.string().transform((value, at) => {
  const bytes = /^[0-9a-fA-F]{64}$/.test(value) ? Buffer.from(value, 'hex') : Buffer.from(value, 'base64')
  if (bytes.length === 32) return bytes
  at.addIssue({ code: 'custom', message: 'must be 32 bytes in base64 or hex (try: openssl rand -base64 32)' })
  return z.NEVER
})
