/** `gatehouse backup FOLDER`: the database of one moment and the files, while the servers run. */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fingerprintOfKey, parts, writeManifest, type Manifest } from './backup-manifest.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { presentKey, version } from './paths.ts'
import { contentOf, copyFolder } from './store/db/copy-folder.ts'
import { connect } from './store/db/connect.ts'
import { readHistory } from './store/db/incarnation.ts'
import { newestApplied, knownMigrations } from './store/db/migrations.ts'
import { dumpDatabase, type SchemaAt } from './store/db/postgres/programs.ts'

/**
 * Makes a backup in a folder that is new or empty. It is whole or not there: until the end its name goes on with `.partial-`,
 * and a process that is killed leaves that. Files are copied after the database: those of its rows are among them, unless
 * they are deleted meanwhile. Files in a bucket are not in it. Throws ConfigError and UnusableDatabaseError.
 */
export async function backUp(config: Config, folder: string): Promise<Manifest> {
  const key = await presentKey(config)
  if (!key)
    throw new ConfigError([
      'the secret key is missing: set GATEHOUSE_SECRET_KEY, or GATEHOUSE_DATA_DIR to the folder of the servers',
    ])
  const taken = new ConfigError([`${folder} is not empty: name a new folder for the backup`])
  if ((await readdir(folder).catch(() => [])).length > 0) throw taken
  await mkdir(dirname(resolve(folder)), { recursive: true })
  const partial = await mkdtemp(`${resolve(folder)}.partial-`)
  try {
    const manifest = await fill(partial, config, key)
    // Over a folder only while that is empty: another backup may have been faster.
    await rename(partial, folder).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' ? taken : error
    })
    return manifest
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  }
}

async function fill(partial: string, config: Config, key: Buffer): Promise<Manifest> {
  const { schema, incarnation } = config.databaseUrl
    ? await backUpPostgres(
        { url: config.directUrl ?? config.databaseUrl, schema: config.databaseSchema },
        partial,
      )
    : await backUpEmbedded(config, partial)
  await copyFolder(resolve(config.blobDir), join(partial, parts.files), (path) => !path.startsWith('drafts/'))
  const manifest: Manifest = {
    format: 1,
    gatehouse: version(),
    createdAt: new Date().toISOString(),
    kind: config.databaseUrl ? 'postgresql' : 'embedded',
    schema,
    incarnation,
    keyFingerprint: fingerprintOfKey(key),
    database: await contentOf(join(partial, parts.database)),
    files: await contentOf(join(partial, parts.files)),
    ...(config.s3 ? { bucket: config.s3.bucket } : {}),
    ...(config.databaseSchema === 'public' ? {} : { databaseSchema: config.databaseSchema }),
  }
  await writeManifest(partial, manifest)
  return manifest
}

async function backUpEmbedded({ dataDir }: Config, into: string) {
  // Only this command loads the embedded database beside a server.
  const embedded = await import('./store/db/pglite/back-up.ts')
  return embedded.backUpEmbedded(resolve(dataDir, 'db'), join(into, parts.database))
}

async function backUpPostgres(from: SchemaAt, into: string) {
  const connection = await connect({ kind: 'postgres', ...from, poolSize: 2 })
  try {
    const { incarnations } = await readHistory(connection.db)
    const incarnation = incarnations.at(-1)
    if (incarnation === undefined)
      throw new ConfigError(['DATABASE_URL names a database that Gatehouse has not used yet'])
    const schema = await newestApplied(connection.db, knownMigrations())
    await mkdir(join(into, parts.database))
    await dumpDatabase(from, join(into, parts.dump))
    if ((await newestApplied(connection.db, knownMigrations())) !== schema)
      throw new ConfigError(['the database was upgraded during the backup: run it again'])
    return { schema, incarnation }
  } finally {
    await connection.close()
  }
}

/** The command. Prints what the backup holds. */
export async function main([folder]: string[]): Promise<void> {
  const config = loadConfig()
  const { database, files, kind, bucket } = await backUp(config, folder!)
  const key = config.secretKey ? 'GATEHOUSE_SECRET_KEY' : join(config.dataDir, 'secret.key')
  process.stdout.write(
    `${folder} has the ${kind} database (${database.bytes} bytes) and ${files.files} files (${files.bytes} bytes). ` +
      `The secret key is not in it: keep ${key} in another place.\n` +
      (bucket === undefined
        ? ''
        : `The files in the bucket ${bucket} are not in it: keep older versions of its objects.\n`),
  )
}
