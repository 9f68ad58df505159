/** PostgreSQL's own programs: they dump a database and load a dump into an empty one. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sessionSettings } from '../session-settings.ts'
import { UnusableDatabaseError } from '../storage-error.ts'
import { readAddress, variablesOf } from './address.ts'

/** A schema of a database, by its address. */
export interface SchemaAt {
  url: string
  schema: string
}

/** Writes a dump of the schema, of one moment, to a new file in pg_dump's custom format. */
export async function dumpDatabase({ url, schema }: SchemaAt, file: string): Promise<void> {
  const options = [
    '--format=custom',
    '--no-owner',
    '--no-privileges',
    `--schema="${schema}"`,
    `--file=${file}`,
  ]
  await connected(url, (start) => ended(start('pg_dump', options)))
}

/**
 * Loads a dump into an empty schema: all of it or nothing, as another past of its log, so that a server that starts on it
 * begins a new incarnation. Throws UnusableDatabaseError when the schema has tables, or a program fails.
 */
export function loadDatabase(to: SchemaAt, file: string): Promise<void> {
  return connected(to.url, (start) => loadSchema(to.schema, file, start))
}

/** Alone, before anything that takes time: a role may have a limit of milliseconds, and a busy machine is slow. */
const unlimited = 'set statement_timeout = 0'

async function loadSchema(schema: string, file: string, start: Start): Promise<void> {
  const psql = (options: string[]) => start('psql', ['--no-psqlrc', '--quiet', ...options])
  const count = `select count(*) from pg_class where relkind = 'r' and relnamespace = to_regnamespace('${schema}')`
  const query = ['--tuples-only', '--no-align', `--command=${unlimited}`, `--command=${count}`]
  const tables = await ended(psql(query))
  if (tables.trim() !== '0')
    throw new UnusableDatabaseError(
      `The schema ${schema} of the database that DATABASE_URL names has tables. Restore into an empty one.`,
    )
  // Of a release that records its migrations in the table of Drizzle's migrator.
  const list = await ended(start('pg_restore', ['--list', file]))
  const schemas = [schema, ...(list.includes(' drizzle __drizzle_migrations ') ? ['drizzle'] : [])]
  const options = ['--no-owner', '--no-privileges', ...schemas.map((name) => `--schema=${name}`)]
  await load(schemas, start('pg_restore', [...options, '--file=-', file]), psql(['--set=ON_ERROR_STOP=1']))
}

async function load(schemas: readonly string[], reading: ChildProcess, loading: ChildProcess): Promise<void> {
  const loaded = ended(loading)
  loaded.catch(() => {})
  // Its end is told by `loaded`.
  loading.stdin!.on('error', () => {})
  // The limits of time of a role or database, too: the dump sets its own only once it comes.
  loading.stdin!.write(`${unlimited};\n`)
  loading.stdin!.write(`do $$ begin perform ${sessionSettings()}; end $$;\n`)
  // Not psql's own transaction: it would commit at the end of its input, also when this process is killed before that.
  loading.stdin!.write('begin;\n')
  // Not "if not exists": for a schema that exists it also takes the right to create one.
  for (const name of schemas)
    loading.stdin!.write(
      `do $$ begin if to_regnamespace('${name}') is null then create schema "${name}"; end if; end $$;\n`,
    )
  reading.stdout!.pipe(loading.stdin!, { end: false })
  try {
    await Promise.race([ended(reading), loaded])
  } catch (error) {
    loading.kill()
    reading.kill()
    throw error
  }
  loading.stdin!.end(`\nupdate "${schemas[0]}".installation set fingerprint = 'restored';\ncommit;\n`)
  await loaded
}

type Start = (program: string, args: string[]) => ChildProcess

/**
 * Calls `work` with what starts a program that connects to this address. A password does not belong on a command line, which
 * others can read: the address is in libpq's variables. It has none for the password of a client's key, which is in a service file
 * of this user alone until `work` ends.
 */
async function connected<Result>(url: string, work: (start: Start) => Promise<Result>): Promise<Result> {
  const address = readAddress(url)
  const { password } = address.tls
  const folder = password === null ? null : await mkdtemp(join(tmpdir(), 'gatehouse-'))
  try {
    const env = variablesOf(address)
    if (folder !== null) {
      env['PGSERVICE'] = 'gatehouse'
      env['PGSERVICEFILE'] = join(folder, 'service.conf')
      await writeFile(env['PGSERVICEFILE'], `[gatehouse]\nsslpassword=${password}\n`, { mode: 0o600 })
    }
    return await work((program, args) => spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env }))
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true })
  }
}

/** The list of a dump has some hundred lines. */
const mostOutput = 100_000

/** What a program printed, when it ended well; UnusableDatabaseError with its complaint. */
function ended(program: ChildProcess): Promise<string> {
  let [output, complaint] = ['', '']
  program.stdout!.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-mostOutput)))
  program.stderr!.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4000)))
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
