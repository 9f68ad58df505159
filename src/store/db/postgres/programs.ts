/** PostgreSQL's own programs: they dump a database and load a dump into an empty one. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnusableDatabaseError } from '../storage-error.ts'

/** Writes a dump of the database, of one moment, to a new file in pg_dump's custom format. */
export async function dumpDatabase(url: string, file: string): Promise<void> {
  const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`]
  await withoutPassword(url, (address) => ended(start('pg_dump', [...options, address])))
}

/**
 * Loads a dump into an empty database: all of it or nothing, as another past of its log, so that a server that starts on it
 * begins a new incarnation. Throws UnusableDatabaseError when the database has tables, or a program fails.
 */
export function loadDatabase(url: string, file: string): Promise<void> {
  return withoutPassword(url, async (address) => {
    const psql = (options: string[]) => start('psql', ['--no-psqlrc', '--quiet', ...options, address])
    const count = `select count(*) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
    const tables = await ended(psql(['--tuples-only', '--no-align', `--command=${count}`]))
    if (tables.trim() !== '0')
      throw new UnusableDatabaseError(
        'The database that DATABASE_URL names has tables. Restore into an empty one.',
      )
    const reading = start('pg_restore', ['--no-owner', '--no-privileges', '--file=-', file])
    await load(reading, psql(['--set=ON_ERROR_STOP=1']))
  })
}

async function load(reading: ChildProcess, loading: ChildProcess): Promise<void> {
  const loaded = ended(loading)
  loaded.catch(() => {})
  // Its end is told by `loaded`.
  loading.stdin!.on('error', () => {})
  // Not psql's own transaction: it would commit at the end of its input, also when this process is killed before that.
  loading.stdin!.write('begin;\n')
  reading.stdout!.pipe(loading.stdin!, { end: false })
  try {
    await Promise.race([ended(reading), loaded])
  } catch (error) {
    loading.kill()
    reading.kill()
    throw error
  }
  loading.stdin!.end(`\nupdate public.installation set fingerprint = 'restored';\ncommit;\n`)
  await loaded
}

/** With the option that names the database. A password does not belong on a command line, which others can read. */
async function withoutPassword<T>(url: string, work: (address: string) => Promise<T>): Promise<T> {
  const [, head, password, tail] = /^(postgres(?:ql)?:\/\/[^:@/]*):([^@]*)(@.*)$/s.exec(url) ?? []
  if (head === undefined) return work(`--dbname=${url}`)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-'))
  try {
    // https://www.postgresql.org/docs/current/libpq-pgpass.html
    const file = join(folder, 'passwords')
    const escaped = decodeURIComponent(password!).replaceAll(/[\\:]/g, String.raw`\$&`)
    await writeFile(file, `*:*:*:*:${escaped}\n`, { mode: 0o600 })
    return await work(
      `--dbname=${head}${tail}${tail!.includes('?') ? '&' : '?'}passfile=${encodeURIComponent(file)}`,
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

function start(program: string, args: string[]): ChildProcess {
  return spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
}

const mostOutput = 4000

/** What a program printed, when it ended well; UnusableDatabaseError with its complaint. */
function ended(program: ChildProcess): Promise<string> {
  let [output, complaint] = ['', '']
  program.stdout!.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-mostOutput)))
  program.stderr!.on(
    'data',
    (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-mostOutput)),
  )
  return new Promise((resolve, reject) => {
    const [name] = program.spawnargs
    program.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new UnusableDatabaseError(
          error.code === 'ENOENT'
            ? `The program ${name} was not found. Install the client programs of PostgreSQL, of the server's version or newer.`
            : `${name} could not be started: ${error.message}`,
        ),
      ),
    )
    program.once('close', (code) =>
      code === 0 ? resolve(output) : reject(new UnusableDatabaseError(`${name} failed: ${complaint.trim()}`)),
    )
  })
}
