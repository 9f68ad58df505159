/** Blobs in a folder, on a disk that all replicas share; bytes that arrive are a draft until they are complete. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm, stat, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DiskFaultError, type DiskBlobs } from './blobs.ts'
import { createReadStream } from 'node:fs'

/** Waits for an operation of the file system, whose error is a fault of the disk. */
export type OnDisk = <T>(work: Promise<T>) => Promise<T>

/** Throws DiskFaultError for every error of the work, after `onFault` was told. */
export function onDiskWith(onFault: (error: unknown) => void): OnDisk {
  return (work) =>
    work.catch((error: unknown) => {
      onFault(error)
      throw new DiskFaultError(error)
    })
}

export interface DraftFile {
  path: string
  /** In bytes. */
  size: number
  /** Hex. */
  sha256: string
  drop(): Promise<void>
}

/** A draft that nobody has written to for so long was left by a process that is gone, in milliseconds. A write to a bucket takes less. */
const abandonedMs = 24 * 3_600_000

const folderOf = (folder: string) => join(folder, 'drafts')

/** Deletes what processes have left below `folder` that were lost while bytes arrived. Throws nothing: it is done again. */
export async function dropAbandoned(folder: string): Promise<void> {
  const names = await readdir(folderOf(folder)).catch(() => [])
  for (const path of names.map((name) => join(folderOf(folder), name))) {
    const found = await stat(path).catch(() => null)
    if (found && Date.now() - found.mtimeMs > abandonedMs) await rm(path, { force: true }).catch(() => {})
  }
}

/**
 * Writes all bytes of the source to a new file below `folder` and syncs it to the disk. Null when there are more than
 * `maxBytes`; then, and when the source or the disk fails, nothing is left.
 */
export async function writeDraft(
  folder: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  onDisk: OnDisk,
): Promise<DraftFile | null> {
  const path = join(folderOf(folder), randomBytes(12).toString('hex'))
  const drop = () => rm(path, { force: true })
  await onDisk(mkdir(dirname(path), { recursive: true }))
  const written = await copy(source, path, maxBytes, onDisk).catch(async (error: unknown) => {
    await drop()
    throw error
  })
  if (!written) await drop()
  return written && { path, ...written, drop }
}

async function copy(
  source: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
  onDisk: OnDisk,
): Promise<Pick<DraftFile, 'size' | 'sha256'> | null> {
  const file = await onDisk(open(path, 'wx', 0o600))
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) return null
      hash.update(chunk)
      // A write to a disk that is almost full takes a part of the bytes; this one goes on with the rest.
      await onDisk(file.writeFile(chunk))
    }
    await onDisk(file.sync())
    return { size, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}

/** Blobs in a folder, which is created by the first write. Keys have lower-case letters, digits and `_`. */
export function diskBlobs(folder: string, onFault: (error: unknown) => void = () => {}): DiskBlobs {
  const onDisk = onDiskWith(onFault)
  const pathOf = (key: string) => {
    if (!/^[a-z0-9_]+$/.test(key))
      throw new Error('The key of a blob has only lower-case letters, digits and _.')
    return join(folder, key.slice(-2), key)
  }
  return {
    async write(source, maxBytes) {
      const draft = await writeDraft(folder, source, maxBytes, onDisk)
      if (!draft) return null
      const { path, size, sha256, drop } = draft
      const keep = async (key: string) => {
        await onDisk(mkdir(dirname(pathOf(key)), { recursive: true }))
        await onDisk(rename(path, pathOf(key)))
        return null
      }
      return { size, sha256, keep, drop }
    },
    async read(key) {
      const path = pathOf(key)
      const found = await stat(path).catch(() => null)
      return found && { stream: createReadStream(path), size: found.size }
    },
    remove: (key) => rm(pathOf(key), { force: true }),
    async *keys() {
      const folders = await readdir(folder).catch(() => [])
      for (const name of folders)
        if (name.length <= 2) yield* await readdir(join(folder, name)).catch(() => [])
    },
  }
}
