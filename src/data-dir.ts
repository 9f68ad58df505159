/** The folders that a process writes to: checked at the start, because a container may have no volume for them. */
import { access, constants, mkdir, readFile, realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { ConfigError, type Config } from './config.ts'
import type { Log } from './core/log.ts'

/**
 * Makes the data directory of the embedded database. Throws ConfigError when it cannot be written, as on the read-only root
 * of a container without a volume. Warns of folders that are lost with the container.
 */
export async function openFolders(
  { databaseUrl, dataDir, blobDir }: Pick<Config, 'databaseUrl' | 'dataDir' | 'blobDir'>,
  log: Log,
): Promise<void> {
  if (!databaseUrl) await openDataDir(dataDir)
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  for (const folder of databaseUrl ? [blobDir] : [dataDir, blobDir]) {
    const path = await realpath(folder).catch(() => resolve(folder))
    if (isInLayer(path, mounts))
      log.warn({ folder }, 'not on a volume: what is in it is lost with this container')
  }
}

async function openDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true })
    await access(dataDir, constants.W_OK)
  } catch (error) {
    const cause = (error as NodeJS.ErrnoException).code ?? String(error)
    const ways = 'mount a volume there, name another folder, or use PostgreSQL with DATABASE_URL'
    throw new ConfigError([`GATEHOUSE_DATA_DIR ${resolve(dataDir)} cannot be written (${cause}): ${ways}`])
  }
}

/**
 * Whether a path is in the writable layer that a container has over its image, by the text of /proc/self/mountinfo
 * (proc_pid_mountinfo(5)): nothing is mounted at it or above it, and the root is such a layer. False where that cannot be
 * told. Pure.
 */
export function isInLayer(path: string, mountinfo: string): boolean {
  const above = mountinfo.split('\n').flatMap((line) => {
    const at = line.split(' ')[4]?.replaceAll(String.raw`\040`, ' ')
    if (at === undefined || !(at === '/' || at === path || path.startsWith(at + sep))) return []
    return [{ at, type: / - (\S+) /.exec(line)?.[1] }]
  })
  // Of the mounts at one place the last one counts.
  const nearest = above.reduce((best, one) => (one.at.length >= best.at.length ? one : best), above[0]!)
  return nearest?.at === '/' && (nearest.type === 'overlay' || nearest.type === 'aufs')
}
