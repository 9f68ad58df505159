/** The first initialisation of a PGlite directory, in a process of its own. */
import { fork } from 'node:child_process'
import { access, cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'

const ownPath = fileURLToPath(import.meta.url)

/**
 * Creates a new cluster in an empty directory; does nothing when there is one. The cluster is created beside the
 * directory and renamed when it is complete, so that a crash leaves no incomplete one.
 */
export async function initialiseDirectory(directory: string): Promise<void> {
  if (await exists(join(directory, 'PG_VERSION'))) return
  const staging = await mkdtemp(join(dirname(directory), `.${basename(directory)}-`))
  try {
    await makeCluster(staging)
    await rm(directory, { recursive: true, force: true })
    await rename(staging, directory).catch(() => cp(staging, directory, { recursive: true }))
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

async function makeCluster(directory: string): Promise<void> {
  // TypeScript sources (tests, dev) cannot be run by a child process without a loader.
  if (ownPath.endsWith('.ts')) return initialise(directory)
  // It ends before the optimized code pays, for which V8 would compile the whole database a second time.
  const child = fork(ownPath, [directory], { execArgv: ['--liftoff-only'] })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0)
    throw new Error(`The embedded database could not be initialised (exit code ${String(code)}).`)
}

async function initialise(directory: string): Promise<void> {
  const client = await PGlite.create(directory)
  await client.close()
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

if (process.argv[1] === ownPath && process.argv[2] && process.send) {
  await initialise(process.argv[2])
  process.disconnect?.()
}
