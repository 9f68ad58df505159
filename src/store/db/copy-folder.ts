/** Copies and fingerprints of folders whose files may come and go meanwhile. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** What a folder holds: the fingerprint covers the paths and the bytes of all files, SHA-256 in hex. */
export interface Content {
  files: number
  bytes: number
  sha256: string
}

/**
 * Copies the files below `from` whose paths there are wanted, with `/` between names, and every folder. One that is removed
 * meanwhile is left out; a folder that does not exist is an empty one.
 */
export async function copyFolder(
  from: string,
  to: string,
  wanted: (path: string) => boolean = () => true,
): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for await (const { path, isFile } of walk(from))
    if (!isFile) await mkdir(join(to, path), { recursive: true })
    else if (wanted(path)) await copyFile(join(from, path), join(to, path)).catch(ignoreMissing)
}

/** Throws when a file is removed meanwhile. */
export async function contentOf(folder: string): Promise<Content> {
  const hash = createHash('sha256')
  let [files, bytes] = [0, 0]
  for await (const { path, isFile } of walk(folder)) {
    if (!isFile) continue
    files += 1
    const own = createHash('sha256')
    for await (const chunk of createReadStream(join(folder, path)) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      own.update(chunk)
    }
    hash.update(`${path}\n${own.digest('hex')}\n`)
  }
  return { files, bytes, sha256: hash.digest('hex') }
}

/** Everything below a folder in the order of names, a folder before what is in it. */
async function* walk(root: string, below = ''): AsyncGenerator<{ path: string; isFile: boolean }> {
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(ignoreMissing)
  for (const entry of entries?.toSorted((a, b) => (a.name < b.name ? -1 : 1)) ?? []) {
    const path = below ? `${below}/${entry.name}` : entry.name
    if (entry.isFile()) yield { path, isFile: true }
    if (!entry.isDirectory()) continue
    yield { path, isFile: false }
    yield* walk(root, path)
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
