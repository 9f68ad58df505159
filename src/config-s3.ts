/** The settings of a bucket: their forms, what they require of each other, and where its objects are. Pure. */
import { z } from 'zod'
import { flag, url } from './config-values.ts'
import type { S3Settings } from './store/blobs/s3/settings.ts'

const endpoint = url(['http:', 'https:'])
  .refine((value) => !/[?#@]/.test(value), {
    message: 'must have no user, query or fragment',
  })
  .transform((value) => value.replace(/\/+$/, ''))

export const s3Shapes = {
  GATEHOUSE_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be 3 to 63 lower-case letters, digits, - and .'),
  GATEHOUSE_S3_ENDPOINT: endpoint,
  GATEHOUSE_S3_PUBLIC_ENDPOINT: endpoint,
  GATEHOUSE_S3_REGION: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be a region, such as eu-central-1'),
  GATEHOUSE_S3_PATH_STYLE: flag,
}

type Set = { [Name in keyof typeof s3Shapes]?: z.output<(typeof s3Shapes)[Name]> }

const names = Object.keys(s3Shapes) as (keyof typeof s3Shapes)[]
const details = names.filter((name) => name !== 'GATEHOUSE_S3_BUCKET')

/** Settings that require others which are missing. */
export function s3Conflicts(set: Set, env: NodeJS.ProcessEnv): string[] {
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
export function s3Of(set: Set, env: NodeJS.ProcessEnv): S3Settings | null {
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
const isPathStyle = (set: Set) => set.GATEHOUSE_S3_PATH_STYLE ?? set.GATEHOUSE_S3_ENDPOINT !== undefined

/** Without TLS no certificate has to fit the name. */
const isPlain = (value: string | undefined) => value?.startsWith('http:') === true
