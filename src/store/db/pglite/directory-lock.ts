/**
 * A lock that admits one process to a PGlite directory, because two would corrupt it silently, and whether its owner
 * is alive.
 */
import { randomBytes } from 'node:crypto'
import { open, readFile, rm, stat, utimes, mkdir } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, writeJson } from '../../../core/json.ts'

/** The content of a lock file. */
interface Owner {
  pid: number
  /** The boot id of the machine; null in locks of releases that wrote only their process id. */
  boot: string | null
  /** The name of the socket file beside the lock; null where the file system supports none. */
  socket: string | null
}

/** How often an owner touches its lock, and how long a lock is watched for a touch, in milliseconds. */
const beatMs = 1500
const watchMs = 4000
/** The longest path that the system takes as the address of a socket, in bytes. */
const maxPath = 100

export interface Presence {
  owner: Owner
  end(): Promise<void>
}

/** Lets other processes see that this process owns the lock, until `end`. It owns their connections, and ends them. */
async function showPresence(lock: string, answer: (socket: Socket) => void): Promise<Presence> {
  const name = `${basename(lock)}.${randomBytes(4).toString('hex')}`
  const closeSocket = await listen(join(dirname(lock), name), answer).catch(() => null)
  const beat = setInterval(() => {
    const now = new Date()
    utimes(lock, now, now).catch(() => {})
  }, beatMs).unref()
  return {
    owner: { pid: process.pid, boot: await bootId(), socket: closeSocket ? name : null },
    async end() {
      clearInterval(beat)
      await closeSocket?.()
    },
  }
}

async function isAlive(lock: string, owner: Owner): Promise<boolean> {
  if (owner.boot === null) return isProcess(owner.pid)
  const listening = owner.socket ? await isListening(join(dirname(lock), owner.socket)) : null
  if (listening) return true
  // On this machine no process listens: the owner is dead, even if another process has its id now.
  if (listening === false && owner.boot === (await bootId())) return false
  return isTouched(lock)
}

/** A connection to the process that owns the lock; null when it cannot be reached. */
export async function connectToOwner(lock: string, { socket }: Owner): Promise<Socket | null> {
  return socket ? connectTo(join(dirname(lock), socket)).catch(() => null) : null
}

/** Removes the socket file of a dead owner. */
async function clearPresence(lock: string, { socket }: Owner): Promise<void> {
  if (socket) await rm(join(dirname(lock), socket), { force: true })
}

function isProcess(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function isTouched(lock: string): Promise<boolean> {
  const touched = () =>
    stat(lock).then(
      (found) => found.mtimeMs,
      () => null,
    )
  const before = await touched()
  await pause(watchMs)
  const after = await touched()
  return after !== null && after !== before
}

async function listen(path: string, answer: (socket: Socket) => void): Promise<() => Promise<void>> {
  const { address, done } = await addressOf(path)
  const connected = new Set<Socket>()
  const server = createServer((socket) => {
    connected.add(socket)
    socket.on('error', () => {}).once('close', () => connected.delete(socket))
    socket.unref()
    answer(socket)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Who may open it may have a backup and keys: only the user of this process. The file is made before `listen` returns.
    const before = process.umask(0o077)
    try {
      server.listen(address, resolve)
    } finally {
      process.umask(before)
    }
  })
  server.unref()
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of connected) socket.destroy()
    await closed
    await rm(path, { force: true })
    await done()
  }
}

/** Whether a process listens on the socket file; null when that cannot be determined. */
async function isListening(path: string): Promise<boolean | null> {
  try {
    const socket = await connectTo(path)
    socket.destroy()
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ECONNREFUSED' || code === 'ENOENT' ? false : null
  }
}

async function connectTo(path: string): Promise<Socket> {
  const { address, done } = await addressOf(path)
  try {
    return await new Promise<Socket>((resolve, reject) => {
      const socket = connect(address)
      socket.once('connect', () => resolve(socket)).once('error', reject)
    })
  } finally {
    await done()
  }
}

/**
 * The path as the address of a socket. On Linux a path that is too long goes through the file descriptor of its folder.
 */
async function addressOf(path: string): Promise<{ address: string; done(): Promise<void> }> {
  if (Buffer.byteLength(path) <= maxPath) return { address: path, done: async () => {} }
  if (process.platform !== 'linux')
    throw new Error(`The path ${path} is too long for a socket: it may have ${maxPath} bytes.`)
  const folder = await open(dirname(path))
  return { address: `/proc/self/fd/${folder.fd}/${basename(path)}`, done: () => folder.close() }
}

let boot: Promise<string> | null = null

function bootId(): Promise<string> {
  return (boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => hostname(),
  ))
}

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
