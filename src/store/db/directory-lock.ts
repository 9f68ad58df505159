/** One process for each PGlite directory: two would corrupt it silently. */
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

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

/**
 * Takes the directory's lock or throws DirectoryInUseError. A lock whose process is gone (kill -9) is taken over.
 * The answer gives it back.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true })
  const path = join(directory, '..', `${directory.split(/[/\\]/).at(-1)}.lock`)
  for (;;) {
    try {
      const file = await open(path, 'wx')
      await file.writeFile(String(process.pid))
      await file.close()
      held.add(path)
      return async () => {
        held.delete(path)
        await rm(path, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const pid = Number(await readFile(path, 'utf8').catch(() => ''))
    if (isAlive(pid, path)) throw new DirectoryInUseError(directory, pid)
    await rm(path, { force: true })
  }
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
