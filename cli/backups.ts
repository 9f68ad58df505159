/** `gatehouse backup` and `gatehouse restore`: programs of the server's package, with its settings. */
import { runHere } from './programs.ts'
import { UsageError, type Command, type ParsedArguments } from './usage.ts'

export const backup: Command = {
  summary: 'copy database and files to a new folder, while servers run',
  help: `gatehouse backup FOLDER

Makes a backup in a new folder: the database of one moment, the files, and a
manifest. It has the settings of the servers (DATABASE_URL, GATEHOUSE_DATA_DIR,
GATEHOUSE_BLOB_DIR, GATEHOUSE_SECRET_KEY). The secret key is not in it.
PostgreSQL needs pg_dump of the server's version or newer.
`,
  options: {},
  run: (given) => runProgram('backup', given),
}

export const restore: Command = {
  summary: 'make an empty database that of a backup',
  help: `gatehouse restore FOLDER

Restores a backup into an empty database, with no files yet and while no server
runs. It needs the secret key of that time. Calls that were running when the
backup was made are UNKNOWN afterwards, and it says how many.
PostgreSQL needs pg_restore and psql of the server's version or newer.
`,
  options: {},
  run: (given) => runProgram('restore', given),
}

async function runProgram(name: 'backup' | 'restore', { words }: ParsedArguments): Promise<number> {
  if (words.length !== 1) throw new UsageError(`${name} takes one folder.`)
  const done = await runHere<void>(name, words)
  return done ? 0 : 1
}
