/**
 * Secrets of a project: sealed, listed by name, filled into templates right before a request to a host that may have
 * them, never returned.
 */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { and, eq, inArray } from 'drizzle-orm'
import { text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Page } from '../../core/page.ts'
import { entity, part, idOf } from '../../core/shapes.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/lists.ts'
import { sql } from '../../store/db/sql.ts'
import { secrets } from '../../store/db/tables/access.ts'
import { appendProjectEvents, secretDeleted, secretSet } from '../events/index.ts'
import {
  assertMay,
  assertQuota,
  inProject,
  operation,
  projectOf,
  publishNews,
  recordChange,
  type Ctx,
  type Services,
  deletion,
} from '../access/index.ts'

const labels = String.raw`[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*`
const shape = new RegExp(String.raw`^((\*\.)?${labels}|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)

/** `api.example.com` on every port, `api.example.com:8443` on that port, `*.example.com` for every subdomain. */
export const allowedHostsShape = z
  .array(
    z
      .string()
      .max(260)
      .transform((host) => host.toLowerCase())
      .refine(
        (host) => shape.test(host),
        'must be a host, as api.example.com, api.example.com:8443 or *.example.com',
      ),
  )
  .min(1, 'must name a host; leave it out for any host')
  .max(50)

/** Whether a secret with these allowed hosts may be sent to this URL. Null: it may be sent to any. */
export function mayGoTo(allowedHosts: readonly string[] | null, address: string | URL): boolean {
  if (allowedHosts === null) return true
  if (!URL.canParse(String(address))) return false
  const { hostname, port, protocol } = new URL(address)
  const used = port || (protocol === 'http:' ? '80' : '443')
  return allowedHosts.some((allowed) => {
    const [, name, onPort] = /^(\[.*\]|[^:]*)(?::([0-9]+))?$/.exec(allowed)!
    if (onPort !== undefined && Number(onPort) !== Number(used)) return false
    return name!.startsWith('*.') ? hostname.endsWith(name!.slice(1)) : hostname === name
  })
}

const version = 'v1'
const nonceBytes = 12
const tagBytes = 16

/**
 * Encryption with AES-256-GCM. The context, such as project and name, is authenticated: no other context decrypts the
 * text.
 */
export function seal(masterKey: Buffer, plain: string, context: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return `${version}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
}

/** The plain text. Throws when the key or the context is another one, or the text was altered. */
export function unseal(masterKey: Buffer, sealed: string, context: string): string {
  const [found, body] = sealed.split('.')
  if (found !== version || !body) throw new Error('The encrypted text has an unknown format.')
  const bytes = Buffer.from(body, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', masterKey, bytes.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString(
    'utf8',
  )
}

/** A secret without its value. */
export const secretShape = part('Secret', 'A secret of a project. Its value is write-only.', {
  id: idOf('secret'),
  name: view.text('The name, used as {{secret:NAME}} in URLs and headers.'),
  allowedHosts: view.texts('The hosts that the secret may be sent to; null: any host.').nullable(),
  createdAt: view.date('When the secret was first set.'),
  updatedAt: view.date('When the secret was last set.'),
})
export interface Secret extends z.output<typeof secretShape> {
  projectId: string
}

export const Secret = entity<Secret>()('Secret')

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const reference = /\{\{secret:([A-Za-z_][A-Za-z0-9_]{0,63})\}\}/g

/** Undefined hosts are those that the secret had. Idempotent. */
export const setSecret = operation({
  name: 'setSecret',
  does: 'Creates or replaces a secret; the value is stored encrypted and cannot be read back.',
  permission: 'secrets:Set',
  input: z
    .object({
      ...inProject,
      name: z
        .string()
        .regex(namePattern, 'must match ^[A-Za-z_][A-Za-z0-9_]{0,63}$')
        .describe('The name of letters, digits and _, used as {{secret:NAME}} in URLs and headers.'),
      value: text(16 * 1024, 1).describe('The value of the secret, at most 16,384 characters.'),
      allowedHosts: allowedHostsShape
        .nullish()
        .describe(
          'The hosts that the secret may be sent to, such as api.example.com, api.example.com:8443 or ' +
            '*.example.com; at most 50. Null: any host. Default: unchanged, and any host for a new secret.',
        ),
    })
    .describe('The secret to create or replace.'),
  payload: z
    .object({ secret: Secret.describe('The secret, without its value.') })
    .describe('The secret that was set, without its value.'),
  refuses: ['NOT_FOUND', 'LIMITED'],
  async run(ctx, { name, value, allowedHosts, ...rest }) {
    const projectId = await projectOf(ctx, rest.projectId)
    await assertMay(ctx, 'secrets:Set', projectId, `secret/${name}`)
    const sealed = seal(ctx.masterKey, value, contextOf(projectId, name))
    const saved = await atomically(ctx.db, async (tx) => {
      await assertQuota(tx, ctx, secrets, projectId, 'secrets')
      const [row] = await tx
        .insert(secrets)
        .values({ id: newId('secret'), projectId, name, sealed, allowedHosts: allowedHosts ?? null })
        .onConflictDoUpdate({
          target: [secrets.projectId, secrets.name],
          set: { sealed, updatedAt: sql`now()`, ...(allowedHosts === undefined ? {} : { allowedHosts }) },
        })
        .returning()
      const details: JsonObject = allowedHosts === undefined ? {} : { allowedHosts }
      await recordChange(tx, ctx, { projectId, action: 'secrets:Set', resource: `secret/${name}`, details })
      await appendProjectEvents(tx, projectId, [secretSet({ name })])
      return shown(row!)
    })
    publishNews(ctx, projectId)
    return { secret: saved }
  },
})

export const deleteSecret = operation({
  name: 'deleteSecret',
  does: 'Deletes a secret; tools that use it fail from then on. Idempotent.',
  permission: 'secrets:Delete',
  input: z
    .object({ ...inProject, name: z.string().describe('The name of the secret.') })
    .describe('The secret to delete.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, input) {
    const projectId = await projectOf(ctx, input.projectId)
    await assertMay(ctx, 'secrets:Delete', projectId, `secret/${input.name}`)
    const deletedId = await atomically(ctx.db, async (tx) => {
      const rows = await tx
        .delete(secrets)
        .where(and(eq(secrets.projectId, projectId), eq(secrets.name, input.name)))
        .returning({ id: secrets.id })
      if (rows.length === 0) return null
      await recordChange(tx, ctx, { projectId, action: 'secrets:Delete', resource: `secret/${input.name}` })
      await appendProjectEvents(tx, projectId, [secretDeleted({ name: input.name })])
      return rows[0]!.id
    })
    if (deletedId) publishNews(ctx, projectId)
    return { deletedId, deleted: deletedId !== null }
  },
})

/** Secrets of a project without their values, newest first. Action `secrets:List`. */
export async function listSecrets(
  ctx: Ctx,
  input: { projectId?: string | null | undefined; page: Page },
): Promise<Secret[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'secrets:List', projectId, 'secret/*')
  return (await listPage(ctx.db, secrets, projectId, input.page)).map(shown)
}

function shown(row: typeof secrets.$inferSelect): Secret {
  const { id, projectId, name, createdAt, updatedAt } = row
  return { id, projectId, name, allowedHosts: row.allowedHosts as string[] | null, createdAt, updatedAt }
}

/** Encrypts every secret with another master key, in the caller's transaction. Returns the number of secrets. */
export async function resealSecrets(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  const rows = await tx.select().from(secrets).for('update')
  for (const { id, projectId, name, sealed } of rows) {
    const context = contextOf(projectId, name)
    const plain = unseal(from, sealed, context)
    await tx
      .update(secrets)
      .set({ sealed: seal(to, plain, context) })
      .where(eq(secrets.id, id))
  }
  return rows.length
}

function contextOf(projectId: string, name: string): string {
  return `${projectId}/${name}`
}

/** The names of the secrets in a template, written as `{{secret:NAME}}`. */
export function secretNames(template: string): string[] {
  return [...template.matchAll(reference)].map((match) => match[1]!)
}

/** A secret may not be sent to a host. The message has the name of the secret and the host, never the value. */
export class SecretRefusedError extends Error {
  constructor(name: string, address: string | URL) {
    const host = URL.canParse(String(address)) ? new URL(address).host : 'this address'
    super(`The secret ${name} may not be sent to ${host}: its allowedHosts do not include it.`)
    this.name = 'SecretRefusedError'
  }
}

/**
 * The plain values of these secrets, to be sent to that URL. A secret that does not exist is not in the map. Throws
 * SecretRefusedError for a secret whose allowed hosts do not include the URL.
 */
export async function openSecrets(
  services: Pick<Services, 'masterKey'> & { db: Database },
  projectId: string,
  names: string[],
  address: string | URL,
): Promise<Map<string, string>> {
  const rows = await loadSecrets(services.db, projectId, names)
  assertHosts(rows, address)
  return new Map(
    rows.map((row) => [row.name, unseal(services.masterKey, row.sealed, contextOf(projectId, row.name))]),
  )
}

/**
 * `openSecrets` for a URL that is not known yet: call `assertMayGo` with each URL before anything that contains the
 * values or proves them is sent there.
 */
export async function openSecretsAhead(
  services: Pick<Services, 'masterKey'> & { db: Database },
  projectId: string,
  names: string[],
): Promise<{ values: Map<string, string>; assertMayGo(address: string | URL): void }> {
  const rows = await loadSecrets(services.db, projectId, names)
  const values = new Map(
    rows.map((row) => [row.name, unseal(services.masterKey, row.sealed, contextOf(projectId, row.name))]),
  )
  return { values, assertMayGo: (address) => assertHosts(rows, address) }
}

/**
 * Checks that the caller may save something that sends these secrets to that URL (null: the URL is not known yet).
 * Action `secrets:Use` on each, checked before anything about the secrets is revealed. Returns the fault as a message
 * that follows a path: a secret that does not exist, or whose allowed hosts do not include the URL.
 */
export async function faultOfUse(
  ctx: Ctx,
  projectId: string,
  names: readonly string[],
  address: string | URL | null,
): Promise<string | null> {
  for (const name of new Set(names)) await assertMay(ctx, 'secrets:Use', projectId, `secret/${name}`)
  const known = new Map((await loadSecrets(ctx.db, projectId, names)).map((row) => [row.name, row]))
  for (const name of names) {
    const row = known.get(name)
    if (!row) return `names the secret ${name}, which does not exist`
    if (address !== null && !mayGoTo(row.allowedHosts as string[] | null, address))
      return `sends the secret ${name} to a host that is not in its allowedHosts`
  }
  return null
}

function assertHosts(rows: readonly (typeof secrets.$inferSelect)[], address: string | URL): void {
  const refused = rows.find((row) => !mayGoTo(row.allowedHosts as string[] | null, address))
  if (refused) throw new SecretRefusedError(refused.name, address)
}

async function loadSecrets(db: Database, projectId: string, names: readonly string[]) {
  if (names.length === 0) return []
  return db
    .select()
    .from(secrets)
    .where(and(eq(secrets.projectId, projectId), inArray(secrets.name, [...new Set(names)])))
}

/** The template with every `{{secret:NAME}}` replaced, or the first name that `values` does not have. */
export function fillSecrets(
  template: string,
  values: Map<string, string>,
): { text: string } | { missing: string } {
  const missing = secretNames(template).find((name) => !values.has(name))
  if (missing !== undefined) return { missing }
  return { text: template.replace(reference, (_whole, name: string) => values.get(name)!) }
}
