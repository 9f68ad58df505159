/** `gatehouse keys create --local`: a key without another key, for an operator who can write the database. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { systemClock } from './core/time.ts'
import { AppError, type ErrorCode } from './core/errors.ts'
import { isJsonObject, type JsonObject } from './core/json.ts'
import { createKeyOnMachine, type KeyOnMachine } from './domain/access/index.ts'
import { addressOf } from './paths.ts'
import { connect, type Connection } from './store/db/connect.ts'
import type { Database } from './store/db/database.ts'
import { readHistory } from './store/db/incarnation.ts'
import { newestApplied, knownMigrations, refuseNewerSchema } from './store/db/migrations.ts'
import { UnusableDatabaseError } from './store/db/storage-error.ts'

/** A new key with its secret, as the command prints it. */
export interface LocalKey {
  id: string
  name: string
  role: string
  projectId: string
  expiresAt: string | null
  secret: string
}

/**
 * Makes a key in the database of these settings, also while a server runs. Throws INVALID as createKeyOnMachine, ConfigError and
 * UnusableDatabaseError where there is no database, or this user of the system may not write it.
 */
export async function createLocalKey(config: Config, key: KeyOnMachine): Promise<LocalKey> {
  if (!config.databaseUrl) await assertDirectory(config.dataDir)
  const connection = await connect(addressOf(config)).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'DirectoryInUseError') return null
    throw error
  })
  if (!connection) return keyOfServer(resolve(config.dataDir, 'db'), key)
  try {
    await assertCurrent(connection.db)
    return await makeKey(connection.db, key)
  } finally {
    await connection.close()
  }
}

async function makeKey(db: Database, key: unknown): Promise<LocalKey> {
  const { apiKey, secret } = await createKeyOnMachine(db, systemClock, key)
  const { id, name, role, projectId, expiresAt } = apiKey
  return { id, name, role: role!, projectId, expiresAt: expiresAt?.toISOString() ?? null, secret }
}

async function assertDirectory(dataDir: string): Promise<void> {
  const path = resolve(dataDir)
  const fault = (name: string, mode: number) =>
    access(join(path, name), mode).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code ?? String(error),
    )
  const cause = (await fault('db/PG_VERSION', constants.R_OK)) ?? (await fault('.', constants.W_OK))
  if (cause === null) return
  const isAbsent = cause === 'ENOENT' || cause === 'ENOTDIR'
  throw new ConfigError([
    isAbsent
      ? `there is no database in ${path}: GATEHOUSE_DATA_DIR names the folder of the server, or DATABASE_URL its PostgreSQL`
      : `GATEHOUSE_DATA_DIR ${path} cannot be read and written (${cause}): run this as the user of the server`,
  ])
}

/** What another release has migrated, or none, is not written. */
async function assertCurrent(db: Database): Promise<void> {
  const { incarnations } = await readHistory(db)
  const known = knownMigrations()
  const schema = incarnations.length > 0 ? await newestApplied(db, known) : 0
  await refuseNewerSchema(db, schema, known)
  if (schema < known.at(-1)!.folderMillis)
    throw new UnusableDatabaseError(
      'No server of this release has started on this database. Start it once, then make the key.',
    )
}

async function keyOfServer(directory: string, key: KeyOnMachine): Promise<LocalKey> {
  const { askOwner } = await import('./store/db/pglite/processes.ts')
  const { made, error } = await askOwner(directory, { createKey: key as unknown as JsonObject })
  if (isJsonObject(made)) return made as unknown as LocalKey
  const { code, message } = isJsonObject(error) ? error : ({} as JsonObject)
  throw new AppError(String(code) as ErrorCode, String(message))
}

/** Lets the server of an embedded database make keys for that command. */
export function answerLocalKeys({ answerProcesses, db }: Connection): void {
  answerProcesses?.(async ({ createKey }) => {
    try {
      return { made: await makeKey(db, createKey) }
    } catch (error) {
      const { code, message } = error instanceof AppError ? error : unexpected
      return { error: { code, message } }
    }
  })
}

const unexpected = new AppError('INTERNAL', 'The server could not make the key; its log may say why.')

/** The command. */
export function main(key: KeyOnMachine): Promise<LocalKey> {
  return createLocalKey(loadConfig(), key)
}
