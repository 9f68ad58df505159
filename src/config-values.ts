/** Forms of single settings. Pure: their messages name no value. */
import { z } from 'zod'
import { accessSync, constants } from 'node:fs'
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

/** An address of Redis; what stands behind the host is the number of a database. */
export const redisUrl = url(['redis:', 'rediss:']).pipe(
  z.string().refine((value) => /^(?:\/\d{0,5})?$/.test(new URL(value).pathname), {
    message:
      'has something behind the host that is no number of a database: redis://user:password@host:6379/0',
  }),
)

/** An origin: scheme, host and port. Every page, API and link of a server is below the root of one. */
export const origin = url(['http:', 'https:']).transform((value, at) => {
  const { pathname, search, hash, origin: whole } = new URL(value)
  if (pathname === '/' && search === '' && hash === '' && !value.includes('@')) return whole
  at.addIssue({
    code: 'custom',
    message:
      'must be an origin, such as https://gatehouse.example.com: a path is not served, give it a host of its own',
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
    /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/,
    'must be a name of small letters, digits and "_", at most 63, that does not begin with pg_',
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
