/** Blobs in a folder, on a disk that all replicas share. */
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DiskBlobs } from './blobs.ts'
import { onDiskWith, writeDraft } from './draft.ts'

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
