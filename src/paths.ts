/** What the house stands on, wherever it is opened from: which database, and the key that seals its secrets. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from './config.ts'
import type { DatabaseAddress } from './store/db/connect.ts'

/** PostgreSQL when it is configured, else the embedded database beside the data. */
export function addressOf(config: Config): DatabaseAddress {
  if (config.databaseUrl) return { kind: 'postgres', url: config.databaseUrl, poolSize: config.databasePool }
  return { kind: 'pglite', directory: resolve(config.dataDir, 'db') }
}

/**
 * The configured key; else, outside production, one that is made once and kept beside the data. `ephemeral`: one that
 * nobody keeps.
 */
export async function masterKeyOf(config: Config, ephemeral = false): Promise<Buffer> {
  if (config.secretKey) return config.secretKey
  const made = randomBytes(32)
  if (ephemeral) return made
  const path = keyFile(config.dataDir)
  await mkdir(config.dataDir, { recursive: true })
  await writeFile(path, made.toString('base64'), { flag: 'wx', mode: 0o600 }).catch(() => {})
  return Buffer.from(await readFile(path, 'utf8'), 'base64')
}

/** Keeps another key beside the data. It is whole on the disk before it stands in the old one's place. */
export async function keepKey(dataDir: string, key: Buffer): Promise<{ commit(): Promise<void> }> {
  const path = keyFile(dataDir)
  await writeFile(`${path}.next`, key.toString('base64'), { mode: 0o600 })
  return { commit: () => rename(`${path}.next`, path) }
}

function keyFile(dataDir: string): string {
  return join(dataDir, 'secret.key')
}
