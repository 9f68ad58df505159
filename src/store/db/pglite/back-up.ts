/** Copies the directory of the embedded database, whether a process uses it or not. */
import { copyFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readJson } from '../../../core/json.ts'
import { copyFolder } from '../copy-folder.ts'
import { UnusableDatabaseError } from '../storage-error.ts'
import { reachOwner, backupWords, type BackupEnd, linesOf } from './processes.ts'
import { connectEmbedded } from './connect.ts'
import { DirectoryInUseError } from './directory-lock.ts'

/**
 * Copies the database to a new folder, from which the embedded database starts as after a crash at the end of the copy:
 * nothing that was committed before is missing. The process that uses the database goes on. Returns what the copy holds.
 * Throws UnusableDatabaseError, and leaves a folder that cannot be used, when it cannot be copied.
 */
export async function backUpEmbedded(
  directory: string,
  into: string,
): Promise<{ schema: number; incarnation: string }> {
  if (!(await stat(directory).catch(() => null)))
    throw new UnusableDatabaseError(
      `There is no database in ${directory}. GATEHOUSE_DATA_DIR names the folder above it.`,
    )
  const own = await connectEmbedded({ kind: 'pglite', directory }).catch((error: unknown) => {
    if (!(error instanceof DirectoryInUseError)) throw error
    return null
  })
  try {
    return await copyFrom(directory, into)
  } finally {
    await own?.close()
  }
}

async function copyFrom(directory: string, into: string) {
  const socket = await reachOwner(directory)
  if (!socket)
    throw new UnusableDatabaseError(
      'The process that uses the database cannot be reached from here. Run the backup on its machine, or stop it first.',
    )
  try {
    const next = linesOf(socket)
    const ask = async (word: string) => {
      socket.write(`${word}\n`)
      return readJson((await next()) || 'null') as object | null
    }
    const begun = await ask(backupWords.begin)
    if (begun && 'busy' in begun) throw new UnusableDatabaseError('Another backup is running.')
    if (!begun) throw gone
    const control = 'global/pg_control'
    const late = (path: string) => path.startsWith('pg_wal/') || path === control || path === 'postmaster.pid'
    await copyFolder(directory, into, (path) => !late(path))
    await copyFile(join(directory, control), join(into, control))
    const end = (await ask(backupWords.end)) as BackupEnd | null
    if (!end) throw gone
    const { schema, incarnation } = end
    if (schema === null || incarnation === null)
      throw new UnusableDatabaseError(`No server has finished its first start on ${directory}.`)
    await writeFile(join(into, 'backup_label'), end.label)
    await copyFolder(join(directory, 'pg_wal'), join(into, 'pg_wal'))
    await assertWhole(join(into, 'pg_wal'), end)
    return { schema, incarnation }
  } finally {
    socket.destroy()
  }
}

const gone = new UnusableDatabaseError('The server stopped during the backup. Run it again.')

/** A checkpoint in the middle may have removed what the copy begins with. */
async function assertWhole(folder: string, { label, lastWal }: BackupEnd): Promise<void> {
  const first = /^START WAL LOCATION: \S+ \(file (\w{24})\)$/m.exec(label)?.[1]
  const present = new Set(await readdir(folder))
  const isWhole = first !== undefined && walFiles(first, lastWal).every((name) => present.has(name))
  if (!isWhole)
    throw new UnusableDatabaseError(
      'The database changed too fast for the copy to be whole. Run the backup again.',
    )
}

/** The names of the files from one to another on the same timeline; a file has 16 MiB. */
function walFiles(first: string, last: string): string[] {
  const numberOf = (name: string) => parseInt(name.slice(8, 16), 16) * 256 + parseInt(name.slice(16), 16)
  const hex = (value: number) => value.toString(16).toUpperCase().padStart(8, '0')
  const names: string[] = []
  for (let i = numberOf(first); i <= numberOf(last); i++)
    names.push(first.slice(0, 8) + hex(Math.floor(i / 256)) + hex(i % 256))
  return names
}
