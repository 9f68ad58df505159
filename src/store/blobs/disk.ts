/** Blobs: bytes by key, on a disk that all replicas share. A blob is whole or it is not there. */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'

export interface WrittenBlob {
  /** In bytes. */
  size: number
  /** Hex. */
  sha256: string
}

export interface Blobs {
  /**
   * Writes everything that the source gives, and answers what it was; null when that is more than `maxBytes`, and then
   * nothing is kept. Writing a key again replaces the blob at once.
   */
  write(key: string, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<WrittenBlob | null>
  /** A stream of the bytes; null when there is no such blob. */
  read(key: string): Promise<{ stream: Readable; size: number } | null>
  remove(key: string): Promise<void>
}

/** Blobs under a folder, which is made at the first write. Keys are ids of ours: letters, digits and `_`. */
export function diskBlobs(folder: string): Blobs {
  const pathOf = (key: string) => {
    if (!/^[a-z0-9_]+$/.test(key)) throw new Error('A blob has a key of letters, digits and _.')
    return join(folder, key.slice(-2), key)
  }
  return {
    async write(key, source, maxBytes) {
      const path = pathOf(key)
      await mkdir(dirname(path), { recursive: true })
      const draft = `${path}.${randomBytes(6).toString('hex')}.part`
      try {
        const written = await copy(source, draft, maxBytes)
        if (written) await rename(draft, path)
        return written
      } finally {
        await rm(draft, { force: true })
      }
    },
    async read(key) {
      const path = pathOf(key)
      const found = await stat(path).catch(() => null)
      return found && { stream: createReadStream(path), size: found.size }
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  }
}

/** Copies to a file and onto the disk itself, before anybody is told that it is there. */
async function copy(
  source: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
): Promise<WrittenBlob | null> {
  const file = await open(path, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) return null
      hash.update(chunk)
      await file.write(chunk)
    }
    await file.sync()
    return { size, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
