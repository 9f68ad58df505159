/** One process for each PGlite directory: two would corrupt it silently. */
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { clearPresence, isAlive, showPresence, type Owner } from './lock-owner.ts'

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

/** How long to wait before looking again at a lock that others are busy with, and how often, about ten seconds in all. */
const pauseMs = 10
const mostLooks = 1000
/** A lock without an owner in it is being written; when it is older than this its writer is gone. */
const writingMs = 2000

/**
 * Takes the directory's lock or throws DirectoryInUseError, also for a process in another container that shares the
 * directory. A lock whose process is gone (kill -9) is taken over, by one of however many find it. Returns what gives
 * it back.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true })
  const path = join(directory, '..', `${basename(directory)}.lock`)
  for (let looks = 0; looks < mostLooks; looks++) {
    const give = await create(path)
    if (give) return give
    const owner = await ownerOf(path)
    if (owner && (await isAlive(path, owner))) throw new DirectoryInUseError(directory, owner.pid)
    if (!owner || !(await clear(path, owner))) await pause(pauseMs)
  }
  throw new Error(`The lock ${path} could not be taken.`)
}

/** Makes the file with us in it, and returns what removes it; null when there is one. */
async function create(path: string): Promise<(() => Promise<void>) | null> {
  try {
    const file = await open(path, 'wx')
    // Whoever finds a lock without an owner waits; the owner can be asked for before it is named.
    const presence = await showPresence(path)
    await file.writeFile(JSON.stringify(presence.owner))
    await file.close()
    return async () => {
      await rm(path, { force: true })
      await presence.end()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
    throw error
  }
}

/** An owner that can be no process, for what no process of ours has written. */
const nobody: Owner = { pid: 0, boot: null, socket: null }

/** Who stands in the lock; null when the file is gone or still being written. */
async function ownerOf(path: string): Promise<Owner | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  if (text !== '') return parse(text)
  const written = await stat(path).then(
    (found) => found.mtimeMs,
    () => Date.now(),
  )
  return Date.now() - written > writingMs ? nobody : null
}

/** Earlier releases wrote their process id alone, and showed nothing else. */
function parse(text: string): Owner {
  try {
    const found = JSON.parse(text) as Owner | number
    return typeof found === 'number' ? { pid: found, boot: null, socket: null } : found
  } catch {
    return nobody
  }
}

/**
 * Removes a lock whose owner is gone. One at a time, under a lock of its own: a second one would remove the fresh lock
 * that the first has made in its place. False when somebody else is at it.
 */
async function clear(path: string, dead: Owner): Promise<boolean> {
  const guard = `${path}.clearing`
  const done = await create(guard)
  if (!done) {
    const owner = await ownerOf(guard)
    if (owner && !(await isAlive(guard, owner))) await rm(guard, { force: true })
    return false
  }
  try {
    const owner = await ownerOf(path)
    // It was found dead before the guard was taken; in the meantime another may have made a lock of its own.
    if (owner && owner.pid === dead.pid && owner.socket === dead.socket) {
      await rm(path, { force: true })
      await clearPresence(path, owner)
    }
  } finally {
    await done()
  }
  return true
}
