/** The manifest of a backup: what the folder holds, and what a restore must have. It never has the key. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readJson, writeJson } from './core/json.ts'
import { ConfigError } from './config.ts'
import { purposeKey } from './core/signing.ts'

const content = z.object({ files: z.number(), bytes: z.number(), sha256: z.string() })

const shape = z.object({
  /** Of this file. */
  format: z.literal(1),
  /** The version that made it. */
  gatehouse: z.string(),
  createdAt: z.string(),
  kind: z.enum(['postgresql', 'embedded']),
  /** The time of the newest migration. */
  schema: z.number(),
  /** The name of the log's incarnation. */
  incarnation: z.string(),
  /** Tells the secret key from others, and nothing about it. */
  keyFingerprint: z.string(),
  database: content,
  /** Those on the disk. */
  files: content,
  /** The bucket whose files are not in the backup; absent where there was none. */
  bucket: z.string().optional(),
  /** The name of the schema of PostgreSQL; absent for public. */
  databaseSchema: z.string().optional(),
})

export type Manifest = z.output<typeof shape>

/** The parts of a backup's folder. A dump of PostgreSQL is a file in its part. */
export const parts = { database: 'database', files: 'files', dump: 'database/dump' } as const
const fileName = 'manifest.json'

export function fingerprintOfKey(masterKey: Buffer): string {
  return purposeKey(masterKey, 'backup').toString('hex').slice(0, 16)
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeFile(join(folder, fileName), `${writeJson(manifest, 2)}\n`, { mode: 0o600 })
}

/** Throws ConfigError when the folder is no whole backup of this format. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, fileName), 'utf8').catch(() => null)
  if (text === null)
    throw new ConfigError([`${folder} has no ${fileName}: it is no backup, or one that was cut off`])
  const found = shape.safeParse(jsonOf(text))
  if (!found.success)
    throw new ConfigError([
      `the ${fileName} of ${folder} is not of format 1: it was changed, or made by a newer release`,
    ])
  return found.data
}

function jsonOf(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return null
  }
}
