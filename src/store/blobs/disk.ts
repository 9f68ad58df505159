/** Blobs: bytes by key, on a disk that all replicas share. A blob is complete or does not exist. */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'

/** Bytes that were written to disk and have no key yet. The caller must call `keep` or `drop`. */
export interface Draft {
  /** In bytes. */
  size: number
  /** Hex. */
  sha256: string
  /** Stores the bytes under a key atomically, and replaces an earlier blob. */
  keep(key: string): Promise<void>
  /** Deletes the bytes. Has no effect after `keep`. */
  drop(): Promise<void>
}

/** The disk takes no bytes: it is full, read-only or broken. The same write may succeed later. */
export class DiskFaultError extends Error {
  constructor(cause: unknown) {
    super('The disk of files takes no bytes.', { cause })
    this.name = 'DiskFaultError'
  }
}

export interface Blobs {
  /**
   * Writes all bytes of the source to disk. Null when there are more than `maxBytes`; then, and when the source or the
   * disk fails, nothing is left on the disk. Throws DiskFaultError, as `keep` does, or the error of the source.
   */
  write(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Draft | null>
  /** A stream of the bytes; null when there is no blob with this key. */
  read(key: string): Promise<{ stream: Readable; size: number } | null>
  remove(key: string): Promise<void>
}

/** Blobs in a folder, which is created by the first write. Keys have lower-case letters, digits and `_`. */
export function diskBlobs(folder: string, onFault: (error: unknown) => void = () => {}): Blobs {
  const onDisk: OnDisk = (work) =>
    work.catch((error: unknown) => {
      onFault(error)
      throw new DiskFaultError(error)
    })
  const pathOf = (key: string) => {
    if (!/^[a-z0-9_]+$/.test(key))
      throw new Error('The key of a blob has only lower-case letters, digits and _.')
    return join(folder, key.slice(-2), key)
  }
  return {
    async write(source, maxBytes) {
      const path = join(folder, 'drafts', randomBytes(12).toString('hex'))
      const drop = () => rm(path, { force: true })
      await onDisk(mkdir(dirname(path), { recursive: true }))
      const written = await copy(source, path, maxBytes, onDisk).catch(async (error: unknown) => {
        await drop()
        throw error
      })
      if (!written) await drop()
      const keep = async (key: string) => {
        await onDisk(mkdir(dirname(pathOf(key)), { recursive: true }))
        await onDisk(rename(path, pathOf(key)))
      }
      return written && { ...written, keep, drop }
    },
    async read(key) {
      const path = pathOf(key)
      const found = await stat(path).catch(() => null)
      return found && { stream: createReadStream(path), size: found.size }
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  }
}

/** Waits for an operation of the file system, whose error is a fault of the disk. */
type OnDisk = <T>(work: Promise<T>) => Promise<T>

/** Copies the source to a new file and syncs it to the disk. */
async function copy(
  source: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
  onDisk: OnDisk,
): Promise<Pick<Draft, 'size' | 'sha256'> | null> {
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
