/**
 * Whether the owner of a lock file is alive. Process ids are not comparable between containers that share a directory,
 * so the owner listens on a socket file beside the lock: a connection attempt succeeds from any container of the
 * machine, also while the owner is suspended. An owner on another machine is alive while it touches the lock file.
 */
import { randomBytes } from 'node:crypto'
import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** The content of a lock file. */
export interface Owner {
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
export async function showPresence(lock: string, answer: (socket: Socket) => void): Promise<Presence> {
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

export async function isAlive(lock: string, owner: Owner): Promise<boolean> {
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
export async function clearPresence(lock: string, { socket }: Owner): Promise<void> {
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
