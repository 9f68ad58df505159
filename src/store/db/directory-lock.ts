/** One process for each PGlite directory: two would corrupt it silently. */
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A directory that another living process works in. The message says which and what to do. */
export class DirectoryInUseError extends Error {
  constructor(directory: string, pid: number) {
    super(
      `The data directory ${directory} is in use by process ${pid}. An embedded database has one process at a time: ` +
        'stop that process, choose another directory with GATEHOUSE_DATA_DIR, or set DATABASE_URL to a PostgreSQL server.',
    )
    this.name = 'DirectoryInUseError'
  }
}

const held = new Set<string>()

/** How long to wait before looking again at a lock that others are busy with, and how often, about ten seconds in all. */
const pauseMs = 10
const mostLooks = 1000
/** A lock without a name in it is being written; when it is older than this its writer is gone. */
const writingMs = 2000

/**
 * Takes the directory's lock or throws DirectoryInUseError. A lock whose process is gone (kill -9) is taken over, by
 * one of however many find it. The answer gives it back.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true })
  const path = join(directory, '..', `${basename(directory)}.lock`)
  for (let looks = 0; looks < mostLooks; looks++) {
    if (await create(path)) return () => remove(path)
    const owner = await ownerOf(path)
    if (owner !== null && isAlive(owner, path)) throw new DirectoryInUseError(directory, owner)
    if (owner === null || !(await clear(path))) await pause(pauseMs)
  }
  throw new Error(`The lock ${path} could not be taken.`)
}

/** Makes the file with our process id in it; false when there is one. */
async function create(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    held.add(path)
    await file.writeFile(String(process.pid))
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function remove(path: string): Promise<void> {
  held.delete(path)
  await rm(path, { force: true })
}

/** The process in the lock, 0 for one that can be no process, null when the file is gone or still being written. */
async function ownerOf(path: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  if (text !== '') return Number(text) || 0
  const written = await stat(path).then(
    (found) => found.mtimeMs,
    () => Date.now(),
  )
  return Date.now() - written > writingMs ? 0 : null
}

/**
 * Removes a lock whose owner is gone. One at a time, under a lock of its own: a second one would remove the fresh lock
 * that the first has made in its place. False when somebody else is at it.
 */
async function clear(path: string): Promise<boolean> {
  const guard = `${path}.clearing`
  if (!(await create(guard))) {
    const owner = await ownerOf(guard)
    if (owner !== null && !isAlive(owner, guard)) await rm(guard, { force: true })
    return false
  }
  try {
    const owner = await ownerOf(path)
    if (owner !== null && !isAlive(owner, path)) await rm(path, { force: true })
  } finally {
    await remove(guard)
  }
  return true
}

function isAlive(pid: number, path: string): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  // A container may hand the new process the pid of its dead predecessor.
  if (pid === process.pid) return held.has(path)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
