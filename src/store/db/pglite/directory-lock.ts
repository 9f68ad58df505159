/** A lock that admits one process to a PGlite directory: two would corrupt it silently. */
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, writeJson } from '../../../core/json.ts'
import { clearPresence, isAlive, showPresence, type Owner } from './lock-owner.ts'

/** The directory is in use by another running process. The message names the process and says what to do. */
export class DirectoryInUseError extends Error {
  constructor(directory: string, pid: number) {
    super(
      `The data directory ${directory} is in use by process ${pid}. An embedded database has one process at a time: ` +
        'stop that process, choose another directory with GATEHOUSE_DATA_DIR, or set DATABASE_URL to a PostgreSQL server.',
    )
    this.name = 'DirectoryInUseError'
  }
}

/**
 * The pause between two tries while another process takes or clears the lock, and the most tries: about ten seconds.
 */
const pauseMs = 10
const mostTries = 1000
/** A lock file without an owner is being written. When it is older than this, its writer has crashed. Milliseconds. */
const writingMs = 2000

/**
 * Takes the lock of the directory, or throws DirectoryInUseError when another process holds it, also one in another
 * container that shares the directory. The lock of a crashed process is taken over, by exactly one of the processes
 * that try. Returns the function that releases the lock. `answer` gets the connections of other processes until then.
 */
export async function lockDirectory(
  directory: string,
  answer: (socket: Socket) => void = destroy,
): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true })
  const path = lockPathOf(directory)
  for (let tries = 0; tries < mostTries; tries++) {
    const release = await create(path, answer)
    if (release) return release
    const owner = await ownerOf(path)
    if (owner && (await isAlive(path, owner))) throw new DirectoryInUseError(directory, owner.pid)
    if (!owner || !(await clear(path, owner))) await pause(pauseMs)
  }
  throw new Error(
    `The lock ${path} could not be taken: other processes kept taking or clearing it for ten seconds.`,
  )
}

const destroy = (socket: Socket): void => void socket.destroy()

/** The path of the lock file, which is beside the directory. */
export function lockPathOf(directory: string): string {
  return join(directory, '..', `${basename(directory)}.lock`)
}

/** Creates the lock file with this process as owner and returns what removes it; null when the file exists. */
async function create(path: string, answer: (socket: Socket) => void): Promise<(() => Promise<void>) | null> {
  try {
    const file = await open(path, 'wx')
    // Other processes wait while a lock has no owner. The owner listens before it is named in the file.
    const presence = await showPresence(path, answer)
    await file.writeFile(writeJson(presence.owner))
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

/** An owner that no process can be, for a file that Gatehouse did not write. */
const invalidOwner: Owner = { pid: 0, boot: null, socket: null }

/** The owner in the lock file; null when the file does not exist or is still being written. */
export async function ownerOf(path: string): Promise<Owner | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text === null) return null
  if (text !== '') return parse(text)
  const written = await stat(path).then(
    (found) => found.mtimeMs,
    () => Date.now(),
  )
  return Date.now() - written > writingMs ? invalidOwner : null
}

/** Earlier releases wrote only their process id. */
function parse(text: string): Owner {
  try {
    const found = readJson(text) as Owner | number
    return typeof found === 'number' ? { pid: found, boot: null, socket: null } : found
  } catch {
    return invalidOwner
  }
}

/**
 * Removes the lock of a dead owner, under a lock of its own: two processes at once could remove the new lock that one
 * of them has created. Returns false when another process is clearing it.
 */
async function clear(path: string, dead: Owner): Promise<boolean> {
  const guard = `${path}.clearing`
  const done = await create(guard, destroy)
  if (!done) {
    const owner = await ownerOf(guard)
    if (owner && !(await isAlive(guard, owner))) await rm(guard, { force: true })
    return false
  }
  try {
    const owner = await ownerOf(path)
    // Another process may have created a new lock since the owner was found dead.
    if (owner && owner.pid === dead.pid && owner.socket === dead.socket) {
      await rm(path, { force: true })
      await clearPresence(path, owner)
    }
  } finally {
    await done()
  }
  return true
}
