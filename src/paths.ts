/**
 * Where the things of a process are: the address of the database, the master key, its folders, and the version of this
 * program.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile, access, constants, realpath } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, type Config } from './config.ts'
import { newToken } from './core/signing.ts'
import type { DatabaseAddress } from './store/db/connect.ts'
import { readFileSync } from 'node:fs'
import { readJson } from './core/json.ts'
import type { Log } from './core/log.ts'

/** PostgreSQL when it is configured, else the embedded database in the data directory. */
export function addressOf(config: Config): DatabaseAddress {
  const { databaseUrl: url, directUrl, databaseSchema: schema, databasePool: poolSize } = config
  if (url) return { kind: 'postgres', url, directUrl: directUrl ?? url, schema, poolSize }
  return { kind: 'pglite', directory: resolve(config.dataDir, 'db') }
}

/**
 * The configured master key, or one that is generated once and stored in the data directory. With `ephemeral` a new key
 * that is not stored.
 */
export async function masterKeyOf(config: Config, ephemeral = false): Promise<Buffer> {
  if (config.secretKey) return config.secretKey
  const made = randomBytes(32)
  if (ephemeral) return made
  const path = keyFile(config.dataDir)
  let cause: string | undefined
  try {
    await mkdir(config.dataDir, { recursive: true })
    await writeFile(path, made.toString('base64'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    cause = (error as NodeJS.ErrnoException).code
    // Of a full disk: the next start would find a file without a key.
    if (cause === 'ENOSPC' || cause === 'EDQUOT') await rm(path, { force: true })
  }
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text !== null) return keyIn(text, path)
  throw new ConfigError([
    `GATEHOUSE_SECRET_KEY is not set, and the file ${path} could not be made for a generated one (${cause ?? 'unreadable'})`,
  ])
}

/** The key that a file holds. Throws ConfigError for one that was cut off: what it seals, nothing would open. */
function keyIn(text: string, path: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length === 32) return key
  throw new ConfigError([
    `the file ${path} holds no key of 32 bytes: put back the one that sealed the secrets, or delete it if there are none`,
  ])
}

/** The configured or stored master key; null when there is none. Makes none, unlike `masterKeyOf`. */
export async function presentKey({
  secretKey,
  dataDir,
}: Pick<Config, 'secretKey' | 'dataDir'>): Promise<Buffer | null> {
  if (secretKey) return secretKey
  const path = keyFile(dataDir)
  const text = await readFile(path, 'utf8').catch(() => null)
  return text === null ? null : keyIn(text, path)
}

/** The folder of the built dashboard: the same from src and from dist. */
export const webFolder = (): string => fileURLToPath(new URL('../dist/web', import.meta.url))

/** The built command line: the same from src and from dist. */
export const commandFile = (): string => fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

/** Writes another master key to the data directory. `commit` replaces the old key atomically. */
export async function keepKey(dataDir: string, key: Buffer): Promise<{ commit(): Promise<void> }> {
  const path = keyFile(dataDir)
  await writeFile(`${path}.next`, key.toString('base64'), { mode: 0o600 })
  return { commit: () => rename(`${path}.next`, path) }
}

/** Where the operator's key is kept when no terminal can show it. */
export const adminKeyFile = (dataDir: string): string => resolve(dataDir, 'operator.key')

/**
 * A new operator's key, written to this file for its owner only. The file of a start that was cut off, or whose database
 * was another one, is not overwritten: its key is returned.
 */
export async function keptAdminKey(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  try {
    const key = newToken('gh_')
    await writeFile(path, `${key}\n`, { flag: 'wx', mode: 0o600 })
    return key
  } catch (error) {
    const found = (await readFile(path, 'utf8').catch(() => '')).trim()
    if (/^gh_.{40,150}$/.test(found)) return found
    const cause = (error as NodeJS.ErrnoException).code ?? String(error)
    const way = 'set GATEHOUSE_DATA_DIR to a folder that can be written, or GATEHOUSE_ADMIN_KEY'
    throw new ConfigError([`the operator's key could not be written to ${path} (${cause}): ${way}`])
  }
}

function keyFile(dataDir: string): string {
  return join(dataDir, 'secret.key')
}

let known: string | null = null

/** Semantic version. Read once. */
export function version(): string {
  return (known ??= read())
}

/** From the nearest package.json above this file: the same from src and from dist. */
function read(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    try {
      const found = readJson(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name: string
        version: string
      }
      if (found.name === 'gatehouse-server' && found.version) return found.version
    } catch (error) {
      if (folder === dirname(folder)) throw error
    }
  }
}

/**
 * Makes the data directory of the embedded database. Throws ConfigError when it cannot be written, as on the read-only root
 * of a container without a volume. Warns of folders that are lost with the container.
 */
export async function openFolders(
  { databaseUrl, dataDir, blobDir }: Pick<Config, 'databaseUrl' | 'dataDir' | 'blobDir'>,
  log: Log,
): Promise<void> {
  if (!databaseUrl) await openDataDir(dataDir)
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  for (const folder of databaseUrl ? [blobDir] : [dataDir, blobDir]) {
    const path = await realpath(folder).catch(() => resolve(folder))
    if (isInLayer(path, mounts))
      log.warn({ folder }, 'not on a volume: what is in it is lost with this container')
  }
}

async function openDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true })
    await access(dataDir, constants.W_OK)
  } catch (error) {
    const cause = (error as NodeJS.ErrnoException).code ?? String(error)
    const ways = 'mount a volume there, name another folder, or use PostgreSQL with DATABASE_URL'
    throw new ConfigError([`GATEHOUSE_DATA_DIR ${resolve(dataDir)} cannot be written (${cause}): ${ways}`])
  }
}

/**
 * Whether a path is in the writable layer that a container has over its image, by the text of /proc/self/mountinfo
 * (proc_pid_mountinfo(5)): nothing is mounted at it or above it, and the root is such a layer. False where that cannot be
 * told. Pure.
 */
export function isInLayer(path: string, mountinfo: string): boolean {
  const above = mountinfo.split('\n').flatMap((line) => {
    const at = line.split(' ')[4]?.replaceAll(String.raw`\040`, ' ')
    if (at === undefined || !(at === '/' || at === path || path.startsWith(at + sep))) return []
    return [{ at, type: / - (\S+) /.exec(line)?.[1] }]
  })
  // Of the mounts at one place the last one counts.
  const nearest = above.reduce((best, one) => (one.at.length >= best.at.length ? one : best), above[0]!)
  return nearest?.at === '/' && (nearest.type === 'overlay' || nearest.type === 'aufs')
}
