/** The server as plain JavaScript for tests that start processes: built once for the same sources, never stale. */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
/** What builds, and which packages go into the programs. */
const builders = [
  'test/support/build.ts',
  'tools/bundle.mjs',
  'tsconfig.json',
  'tsconfig.client.json',
  'package-lock.json',
]
const runNode = (...args: string[]) => run(process.execPath, args, { cwd: root })
/** Folders of this prefix inside node_modules, where packages and migrations are found from. */
const cache = join(root, 'node_modules')
const prefix = '.gatehouse-'
const keptMs = 24 * 3_600_000

/** Programs of tests: servers that kill themselves at a point that the test names, and one that locks a directory. */
const ownPrograms = [
  'test/support/killed-process.ts',
  'test/support/nested-killed-process.ts',
  'test/support/lock-process.ts',
] as const
/** What they import beside src. */
const shared = ['test/support/around-statements.ts', 'test/support/one-line.ts']

export interface Built {
  /** The server as `npm start` runs it. */
  entry: string
  /** The command line as `gatehouse` runs it. */
  command: string
  /** The folder of gatehouse-server/client. */
  client: string
  /** The path of the JavaScript of such a program. */
  ownProgram(source: (typeof ownPrograms)[number]): string
  /** Writes a program that may import gatehouse-server/client, and returns its path. The caller removes it. */
  program(text: string): Promise<string>
}

/**
 * The programs as the build makes them, each with its packages: to load a thousand files is most of what the start of a process
 * costs. All test files and runs share a folder whose name is the hash of the sources: it is complete from the moment it exists,
 * and what was built is not changed.
 */
export async function buildServer(): Promise<Built> {
  const folder = join(cache, `${prefix}${await hashOfSources()}`)
  if (!(await exists(folder))) {
    const next = await mkdtemp(join(cache, `${prefix}next-`))
    await runNode(
      'node_modules/typescript/bin/tsc',
      '-p',
      'tsconfig.client.json',
      '--outDir',
      next,
      '--noCheck',
    )
    await writeFile(join(next, 'package.json'), JSON.stringify(manifest))
    await build(root, folder, next, ownPrograms)
  }
  const programs = join(folder, 'dist')
  return {
    entry: join(programs, 'main.js'),
    command: join(programs, 'cli/main.js'),
    client: join(folder, 'client'),
    ownProgram: (source) => join(programs, madeName(source)),
    async program(text) {
      const path = join(folder, `program-${randomUUID()}.js`)
      await writeFile(path, text)
      return path
    },
  }
}

/**
 * The release that this one replaces: replicas of both run side by side during an upgrade. Moved with each release. It runs on
 * the packages of this checkout: those that only it needs are development dependencies until then.
 */
const releaseBefore = 'fde6eaae3aab022d98ecb6c80294fa6023848d33'

/** The entry of the server of the release before; null, with a message, where the history of git is not there. */
export async function buildReleaseBefore(): Promise<string | null> {
  const folder = join(cache, `${prefix}${releaseBefore}-${await hashOf([])}`)
  const entry = join(folder, 'dist/main.js')
  if (await exists(folder)) return entry
  const unpacked = await mkdtemp(join(cache, `${prefix}next-`))
  try {
    await run('sh', [
      '-c',
      `git -C "$1" archive ${releaseBefore} package.json src client cli migrations | tar -x -C "$2"`,
      'sh',
      root,
      unpacked,
    ])
    // A pipe ends with the status of its last command.
    await stat(join(unpacked, 'migrations'))
  } catch {
    await rm(unpacked, { recursive: true, force: true })
    console.warn(
      `SKIPPED LOUDLY: no commit ${releaseBefore} here; upgrades from the release before are not tested.`,
    )
    return null
  }
  // It has its own manifest, by whose name it knows its version.
  await build(unpacked, folder, unpacked)
  return entry
}

/** The package by its own name, so that programs import the client as everybody does. */
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const manifest = {
  name: 'gatehouse-server',
  version,
  type: 'module',
  exports: { './client': './client/index.js' },
}

const madeName = (file: string) => file.replace(/\.ts$/, '.js')

/** Of every source, and of what decides what becomes of it. */
async function hashOfSources(): Promise<string> {
  const found = await Promise.all(
    ['src', 'client', 'cli'].map(async (part) =>
      (await readdir(join(root, part), { recursive: true })).map((name) => `${part}/${name}`),
    ),
  )
  const sources = found.flat().filter((name) => name.endsWith('.ts'))
  return hashOf([...sources.toSorted(), ...ownPrograms, ...shared])
}

async function hashOf(files: string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const path of [...files, ...builders].map((file) => join(root, file))) {
    const text = await readFile(path)
    hash.update(`${path} ${text.length}\n`).update(text)
  }
  return hash.digest('hex').slice(0, 32)
}

/** Makes the programs of `from` in `next`, which becomes `folder` when it is complete. */
async function build(
  from: string,
  folder: string,
  next: string,
  more: readonly string[] = [],
): Promise<void> {
  await runNode('tools/bundle.mjs', from, join(next, 'dist'), 'within', ...more)
  try {
    await rename(next, folder)
  } catch (error) {
    // Another worker built the same at the same time.
    await rm(next, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
  await removeOld()
}

/** Removes what was built from other sources; a run of today may still start servers from it. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith(prefix)) continue
    const path = join(cache, name)
    const made = await stat(path).catch(() => null)
    if (made && Date.now() - made.mtimeMs > keptMs) await rm(path, { recursive: true, force: true })
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
