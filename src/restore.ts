/** `gatehouse restore FOLDER`: an empty database and no files become those of a backup. */
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { afterRestore } from './after-restore.ts'
import { fingerprintOfKey, parts, readManifest, type Manifest } from './backup-manifest.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { presentKey } from './paths.ts'
import { contentOf, copyFolder } from './store/db/copy-folder.ts'
import { knownMigrations } from './store/db/migrations.ts'
import { loadDatabase } from './store/db/postgres/programs.ts'

/**
 * Restores a backup, then does what `after-restore` does. Nothing that exists is overwritten, and a restore that was cut off
 * leaves no database that a server would start on. Returns the number of calls that are UNKNOWN. Throws ConfigError for a
 * backup that is not whole, of another secret key, of a newer release or of the other kind of database, and where something
 * is in the way.
 */
export async function restore(config: Config, folder: string): Promise<{ unknown: number }> {
  const manifest = await readManifest(folder)
  assertFits(manifest, config)
  await assertSameKey(manifest, config)
  for (const part of ['database', 'files'] as const)
    if ((await contentOf(join(folder, parts[part]))).sha256 !== manifest[part].sha256)
      throw new ConfigError([
        `the ${part} of ${folder} are not those of its manifest: they were changed or cut off`,
      ])
  const remove = await placeFiles(resolve(config.blobDir), join(folder, parts.files))
  try {
    return await (config.databaseUrl ? intoPostgres : intoDirectory)(config, folder)
  } catch (error) {
    await remove()
    throw error
  }
}

/** Copies the files to their place, before a database names them. Returns what takes them away again. */
async function placeFiles(place: string, from: string): Promise<() => Promise<void>> {
  if ((await readdir(place).catch(() => [])).length > 0)
    throw new ConfigError([`GATEHOUSE_BLOB_DIR ${place} is not empty: a restore overwrites nothing`])
  await mkdir(dirname(place), { recursive: true })
  const copied = await mkdtemp(`${place}.restoring-`)
  await copyFolder(from, copied)
  // Over a folder only while that is empty.
  await rename(copied, place)
  return () => rm(place, { recursive: true, force: true })
}

function assertFits(
  { kind, schema, gatehouse, bucket, databaseSchema: named = 'public' }: Manifest,
  { databaseUrl, databaseSchema, s3 }: Config,
): void {
  if (bucket !== undefined && !s3)
    throw new ConfigError([
      `files of the backup are in the bucket ${bucket}: GATEHOUSE_S3_BUCKET is required`,
    ])
  if ((kind === 'postgresql') !== (databaseUrl !== null))
    throw new ConfigError([
      kind === 'embedded'
        ? 'the backup is of an embedded database: unset DATABASE_URL'
        : 'the backup is of PostgreSQL: DATABASE_URL is required',
    ])
  if (named !== databaseSchema)
    throw new ConfigError([
      `the tables of the backup are in the schema ${named}: set GATEHOUSE_DATABASE_SCHEMA`,
    ])
  if (schema > knownMigrations().at(-1)!.folderMillis)
    throw new ConfigError([`the backup was made by a newer release (${gatehouse}): restore it with that one`])
}

async function assertSameKey({ keyFingerprint }: Manifest, config: Config): Promise<void> {
  const key = await presentKey(config)
  if (key && fingerprintOfKey(key) === keyFingerprint) return
  const given = key ? 'the backup was made with another secret key' : 'the secret key is missing'
  const place = join(config.dataDir, 'secret.key')
  throw new ConfigError([`${given}: set GATEHOUSE_SECRET_KEY, or put the file of that time at ${place}`])
}

async function intoPostgres(config: Config, folder: string) {
  const url = (config.directUrl ?? config.databaseUrl)!
  await loadDatabase({ url, schema: config.databaseSchema }, join(folder, parts.dump))
  return afterRestore(config)
}

/** The database gets its place when everything is done. */
async function intoDirectory(config: Config, folder: string) {
  const place = resolve(config.dataDir, 'db')
  if (await stat(place).catch(() => null))
    throw new ConfigError([`${place} exists: move the database there away, a restore overwrites nothing`])
  const dataDir = await mkdtemp(resolve(config.dataDir, 'restoring-'))
  await copyFolder(join(folder, parts.database), join(dataDir, 'db'))
  const done = await afterRestore({ ...config, dataDir })
  await rename(join(dataDir, 'db'), place)
  await rm(dataDir, { recursive: true, force: true })
  return done
}

/** The command. */
export async function main([folder]: string[]): Promise<void> {
  const { unknown } = await restore(loadConfig(), folder!)
  process.stdout.write(
    `${folder} is restored. The event log has a new incarnation, and ${unknown} calls that ran or were next are UNKNOWN: ` +
      'find out their outcomes. Start the servers.\n',
  )
}
