/**
 * The settings of services outside: an identity provider and a bucket. Their forms, and what they require of each
 * other. Pure.
 */
import { z } from 'zod'
import { list, url, flag } from './config-values.ts'
import type { S3Settings } from './store/blobs/s3/requests.ts'

/** See OidcSettings of domain/access. */
export interface OidcConfig {
  issuer: string
  audiences: string[]
  jwksUrl: string | null
  projectClaim: string
  roleClaim: string
  /** How this server is registered there, so that people can sign in; null: they cannot. */
  client: { id: string; secret: string | null; scopes: string } | null
  /** The issuers beside it to which sign-ins may be sent, to be exchanged there. */
  exchangeIssuers: string[]
}

export const oidcShapes = {
  GATEHOUSE_OIDC_ISSUER: url(['http:', 'https:']),
  GATEHOUSE_OIDC_AUDIENCE: list,
  GATEHOUSE_OIDC_JWKS_URL: url(['http:', 'https:']),
  GATEHOUSE_OIDC_PROJECT_CLAIM: z.string().min(1),
  GATEHOUSE_OIDC_ROLE_CLAIM: z.string().min(1),
  GATEHOUSE_OIDC_CLIENT_ID: z.string().min(1),
  GATEHOUSE_OIDC_CLIENT_SECRET: z.string().min(1),
  GATEHOUSE_OIDC_SCOPES: z
    .string()
    .refine((value) => value.split(' ').includes('openid'), { message: 'must have openid among its scopes' }),
  GATEHOUSE_OIDC_EXCHANGE_ISSUERS: list.refine(
    (issuers) => issuers.every((issuer) => /^https?:\/\//.test(issuer) && URL.canParse(issuer)),
    { message: 'must be URLs beginning with https:// or http://, separated by commas' },
  ),
}

type OidcValues = { [Name in keyof typeof oidcShapes]?: z.output<(typeof oidcShapes)[Name]> }

const oidcNames = Object.keys(oidcShapes) as (keyof typeof oidcShapes)[]
const oidcDetails = oidcNames.filter((name) => name !== 'GATEHOUSE_OIDC_ISSUER')

/** Settings that require others which are missing. */
export function oidcConflicts(set: OidcValues): string[] {
  const mistakes: string[] = []
  if (!set.GATEHOUSE_OIDC_ISSUER && oidcDetails.some((name) => set[name] !== undefined))
    mistakes.push(`${oidcDetails.join(', ')} require GATEHOUSE_OIDC_ISSUER`)
  if (!set.GATEHOUSE_OIDC_CLIENT_ID && (set.GATEHOUSE_OIDC_CLIENT_SECRET || set.GATEHOUSE_OIDC_SCOPES))
    mistakes.push('GATEHOUSE_OIDC_CLIENT_SECRET and GATEHOUSE_OIDC_SCOPES require GATEHOUSE_OIDC_CLIENT_ID')
  return mistakes
}

/** The provider; null when none is configured. */
export function oidcOf(set: OidcValues): OidcConfig | null {
  const issuer = set.GATEHOUSE_OIDC_ISSUER
  if (!issuer) return null
  return {
    issuer,
    audiences: set.GATEHOUSE_OIDC_AUDIENCE ?? [],
    jwksUrl: set.GATEHOUSE_OIDC_JWKS_URL ?? null,
    projectClaim: set.GATEHOUSE_OIDC_PROJECT_CLAIM ?? 'gatehouse_project',
    roleClaim: set.GATEHOUSE_OIDC_ROLE_CLAIM ?? 'gatehouse_role',
    client: clientOf(set),
    exchangeIssuers: set.GATEHOUSE_OIDC_EXCHANGE_ISSUERS ?? [],
  }
}

function clientOf(set: OidcValues): OidcConfig['client'] {
  const id = set.GATEHOUSE_OIDC_CLIENT_ID
  if (!id) return null
  const secret = set.GATEHOUSE_OIDC_CLIENT_SECRET ?? null
  return { id, secret, scopes: set.GATEHOUSE_OIDC_SCOPES ?? 'openid profile email' }
}

const endpoint = url(['http:', 'https:'])
  .refine((value) => !/[?#@]/.test(value), {
    message: 'must have no user, query or fragment',
  })
  .transform((value) => value.replace(/\/+$/, ''))

/** The settings of a bucket: their forms, what they require of each other, and where its objects are. Pure. */
export const s3Shapes = {
  GATEHOUSE_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be 3 to 63 lower-case letters, digits, - and .'),
  GATEHOUSE_S3_ENDPOINT: endpoint,
  GATEHOUSE_S3_PUBLIC_ENDPOINT: endpoint,
  GATEHOUSE_S3_REGION: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be a region, such as eu-central-1'),
  GATEHOUSE_S3_PATH_STYLE: flag,
}

type S3Values = { [Name in keyof typeof s3Shapes]?: z.output<(typeof s3Shapes)[Name]> }

const s3Names = Object.keys(s3Shapes) as (keyof typeof s3Shapes)[]
const details = s3Names.filter((name) => name !== 'GATEHOUSE_S3_BUCKET')

/** Settings that require others which are missing. */
export function s3Conflicts(set: S3Values, env: NodeJS.ProcessEnv): string[] {
  const mistakes: string[] = []
  if (!set.GATEHOUSE_S3_BUCKET) {
    const alone = details.filter((name) => set[name] !== undefined)
    return alone.length > 0 ? [`${alone.join(', ')} require GATEHOUSE_S3_BUCKET`] : []
  }
  const missing = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].filter((name) => !env[name])
  if (missing.length > 0) mistakes.push(`GATEHOUSE_S3_BUCKET requires ${missing.join(' and ')}`)
  if (!set.GATEHOUSE_S3_ENDPOINT && !set.GATEHOUSE_S3_REGION)
    mistakes.push(
      'GATEHOUSE_S3_BUCKET requires GATEHOUSE_S3_REGION, or GATEHOUSE_S3_ENDPOINT of another store',
    )
  if (!isPathStyle(set) && set.GATEHOUSE_S3_BUCKET.includes('.') && !isPlain(set.GATEHOUSE_S3_ENDPOINT))
    mistakes.push('GATEHOUSE_S3_BUCKET with a dot in its name requires GATEHOUSE_S3_PATH_STYLE=true')
  return mistakes
}

/** Where the bucket is; null without one. The settings have no conflicts. */
export function s3Of(set: S3Values, env: NodeJS.ProcessEnv): S3Settings | null {
  const bucket = set.GATEHOUSE_S3_BUCKET
  if (!bucket) return null
  const region = set.GATEHOUSE_S3_REGION ?? 'us-east-1'
  const endpointUrl = set.GATEHOUSE_S3_ENDPOINT ?? `https://s3.${region}.amazonaws.com`
  const below = (base: string) => {
    if (isPathStyle(set)) return `${base}/${bucket}`
    return base.replace('://', `://${bucket}.`)
  }
  return {
    bucket,
    url: below(endpointUrl),
    publicUrl: below(set.GATEHOUSE_S3_PUBLIC_ENDPOINT ?? endpointUrl),
    region,
    accessKeyId: env['AWS_ACCESS_KEY_ID']!,
    secretAccessKey: env['AWS_SECRET_ACCESS_KEY']!,
    sessionToken: env['AWS_SESSION_TOKEN'] || null,
  }
}

/** Servers of one's own rarely have a name for each bucket; AWS has. */
const isPathStyle = (set: S3Values) => set.GATEHOUSE_S3_PATH_STYLE ?? set.GATEHOUSE_S3_ENDPOINT !== undefined

/** Without TLS no certificate has to fit the name. */
const isPlain = (value: string | undefined) => value?.startsWith('http:') === true
