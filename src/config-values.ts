/** Forms of single settings. Pure: their messages name no value. */
import { z } from 'zod'
import { unsupportedDemand } from './store/db/postgres/address.ts'

/** true, false, 1 or 0. */
export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1')

/** A URL of one of these protocols. */
export const url = (protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    message: `must be a URL beginning with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  })

/** May name several servers, as libpq understands it: the first one that is a primary is used. */
export const databaseUrl = z.string().transform((value, at) => {
  const found = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?#]+)(.*)$/s.exec(value)
  const hosts = found?.[2]!.split(',') ?? ['']
  const isForm = hosts.every((host) => host && URL.canParse(`${found![1]}${host}${found![3]}`))
  const demand = isForm ? unsupportedDemand(value) : null
  if (isForm && demand === null) return value
  at.addIssue({
    code: 'custom',
    message: isForm
      ? `demands ${demand}, which is not supported: remove it, and use sslmode=verify-full, with the certificate of an authority of your own in NODE_EXTRA_CA_CERTS`
      : 'must be postgres://user@host:port/database; several servers are host1:port1,host2:port2',
  })
  return z.NEVER
})

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
