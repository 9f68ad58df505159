/** Secrets of a project: set, listed by name, put into templates at the last moment, never shown. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { newId } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { atomically, type Database } from '../../store/db/database.ts'
import { listPage } from '../../store/db/keyset.ts'
import { secrets } from '../../store/db/tables/secrets.ts'
import { assertMay, assertRoom, projectOf, recordChange, type Ctx, type House } from '../access/index.ts'
import { seal, unseal } from './sealing.ts'

/** A secret as people see it: everything but the value. */
export interface Secret {
  id: string
  projectId: string
  name: string
  createdAt: Date
  updatedAt: Date
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const reference = /\{\{secret:([A-Za-z_][A-Za-z0-9_]{0,63})\}\}/g

const newSecret = z.object({
  projectId: z.string().nullish(),
  name: z.string().regex(namePattern, 'must match ^[A-Za-z_][A-Za-z0-9_]{0,63}$'),
  value: text(16 * 1024, 1),
})

/** Sets a secret, new or again. Idempotent. Action `secrets:Set`. The value is sealed and cannot be read back. */
export async function setSecret(
  ctx: Ctx,
  input: { projectId?: string | null; name: string; value: string },
): Promise<Secret> {
  const { name, value, ...rest } = check(newSecret, input)
  const projectId = projectOf(ctx, rest.projectId)
  await assertMay(ctx, 'secrets:Set', projectId, `secret/${name}`)
  const sealed = seal(ctx.masterKey, value, contextOf(projectId, name))
  return atomically(ctx.db, async (tx) => {
    await assertRoom(tx, ctx, secrets, projectId, 'secrets')
    const [row] = await tx
      .insert(secrets)
      .values({ id: newId('secret'), projectId, name, sealed })
      .onConflictDoUpdate({
        target: [secrets.projectId, secrets.name],
        set: { sealed, updatedAt: sql`now()` },
      })
      .returning()
    await recordChange(tx, ctx, { projectId, action: 'secrets:Set', resource: `secret/${name}` })
    return shown(row!)
  })
}

/** Deletes a secret. Idempotent: answers whether there was one. Action `secrets:Delete`. */
export async function deleteSecret(
  ctx: Ctx,
  input: { projectId?: string | null; name: string },
): Promise<boolean> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'secrets:Delete', projectId, `secret/${input.name}`)
  return atomically(ctx.db, async (tx) => {
    const rows = await tx
      .delete(secrets)
      .where(and(eq(secrets.projectId, projectId), eq(secrets.name, input.name)))
      .returning({ id: secrets.id })
    if (rows.length > 0)
      await recordChange(tx, ctx, { projectId, action: 'secrets:Delete', resource: `secret/${input.name}` })
    return rows.length > 0
  })
}

/** Secrets of a project by name and age, newest first, values never. Action `secrets:List`. */
export async function listSecrets(
  ctx: Ctx,
  input: { projectId?: string | null; page: Page },
): Promise<Secret[]> {
  const projectId = projectOf(ctx, input.projectId)
  await assertMay(ctx, 'secrets:List', projectId, 'secret/*')
  return (await listPage(ctx.db, secrets, projectId, input.page)).map(shown)
}

function shown({ id, projectId, name, createdAt, updatedAt }: typeof secrets.$inferSelect): Secret {
  return { id, projectId, name, createdAt, updatedAt }
}

/** Seals every secret anew under another master key, in the caller's transaction; answers how many there were. */
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

/** The names that a template mentions as `{{secret:NAME}}`. */
export function secretNames(template: string): string[] {
  return [...template.matchAll(reference)].map((match) => match[1]!)
}

/** The plain values of these names; a name that does not exist is missing from the answer. */
export async function openSecrets(
  house: Pick<House, 'masterKey'> & { db: Database },
  projectId: string,
  names: string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map()
  const rows = await house.db
    .select()
    .from(secrets)
    .where(and(eq(secrets.projectId, projectId), inArray(secrets.name, names)))
  return new Map(
    rows.map((row) => [row.name, unseal(house.masterKey, row.sealed, contextOf(projectId, row.name))]),
  )
}

/** The template with every `{{secret:NAME}}` replaced, or the name that is missing. */
export function fillSecrets(
  template: string,
  values: Map<string, string>,
): { text: string } | { missing: string } {
  const missing = secretNames(template).find((name) => !values.has(name))
  if (missing !== undefined) return { missing }
  return { text: template.replace(reference, (_whole, name: string) => values.get(name)!) }
}
