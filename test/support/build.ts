/** The server as plain JavaScript for tests that start processes: built once for the same sources, never stale. */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { build as bundleWith } from 'vite'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
/** Folders of this prefix inside node_modules, where packages and migrations are found from. */
const cache = join(root, 'node_modules')
const prefix = '.gatehouse-'
const keptMs = 24 * 3_600_000

/** Servers that kill themselves at a point that the test names. */
const killedPrograms = ['test/support/killed-process.ts', 'test/support/nested-killed-process.ts'] as const
/** What they import beside src. */
const shared = ['test/support/around-statements.ts', 'test/support/one-line.ts']

export interface Built {
  /** The server as `npm start` runs it. */
  entry: string
  /** The command line as `npx gatehouse` runs it. */
  command: string
  /** The folder of gatehouse/client. */
  client: string
  /** The path of the JavaScript of such a program. */
  killedProgram(source: (typeof killedPrograms)[number]): string
  /**
   * Writes a program into src, which may import the server's files and gatehouse/client, and returns its path. The caller
   * removes it.
   */
  program(text: string): Promise<string>
}

/**
 * Transpiles src, client, cli and the programs that kill themselves, without checking types. All test files and runs share a folder whose name is the hash
 * of the sources: it is complete from the moment it exists, and what was built is not changed.
 */
export async function buildServer(): Promise<Built> {
  const sources = await readSources(root, [...killedPrograms, ...shared])
  const folder = join(cache, `${prefix}${hashOf(sources)}`)
  if (!(await exists(folder))) await build(sources, folder, await mkdtemp(join(cache, `${prefix}next-`)))
  const bundled = (file: string) => join(folder, bundle, madeName(file))
  return {
    entry: bundled('src/main.ts'),
    command: bundled('cli/main.ts'),
    client: join(folder, 'client'),
    killedProgram: bundled,
    async program(text) {
      const path = join(folder, 'src', `program-${randomUUID()}.js`)
      await writeFile(path, text)
      return path
    },
  }
}

/**
 * The release that this one replaces: replicas of both run side by side during an upgrade. Moved with each release. It runs on
 * the packages of this checkout: those that only it needs are development dependencies until then.
 */
const releaseBefore = '97c7df751891c773a6389b67b0aaa899cdac8900'

/** The entry of the server of the release before; null, with a message, where the history of git is not there. */
export async function buildReleaseBefore(): Promise<string | null> {
  const folder = join(cache, `${prefix}${releaseBefore}`)
  const entry = join(folder, bundle, 'src/main.js')
  if (await exists(folder)) return entry
  const unpacked = await mkdtemp(join(cache, `${prefix}next-`))
  try {
    await run('sh', [
      '-c',
      `git -C "$1" archive ${releaseBefore} src client cli migrations | tar -x -C "$2"`,
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
  await build(await readSources(unpacked), folder, unpacked)
  return entry
}

/** The package by its own name, so that programs import the client as everybody does. */
const manifest = { name: 'gatehouse', type: 'module', exports: { './client': './client/index.js' } }

/**
 * Where the programs that tests start are, each in one file with its packages: to load a thousand files is most of what the
 * start of a process costs.
 */
const bundle = 'bundle'
/** What becomes a program; the embedded database is initialised by a process of its own. */
const isProgram = (file: string) =>
  /^(src|cli)\/main\.ts$|^src\/(backup|restore|local-key|start-fault)\.ts$|\/initialise\.ts$|killed-process\.ts$/.test(
    file,
  )
/** Modules of the server that the command line loads, where it expects them. */
const loaded = ['main', 'backup', 'restore', 'local-key', 'start-fault']

const madeName = (file: string) => file.replace(/\.ts$/, '.js')

/** The text of each source by its path in the repository. */
async function readSources(from: string, more: readonly string[] = []): Promise<Map<string, string>> {
  const found = await Promise.all(
    ['src', 'client', 'cli'].map(async (part) =>
      (await readdir(join(from, part), { recursive: true })).map((name) => `${part}/${name}`),
    ),
  )
  const names = found.flat().filter((name) => name.endsWith('.ts'))
  const files = [...names.toSorted(), ...more]
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(from, file), 'utf8')] as const)),
  )
}

function hashOf(sources: Map<string, string>): string {
  const hash = createHash('sha256').update(ts.version)
  for (const path of [import.meta.filename, join(root, 'tsconfig.json'), join(root, 'package-lock.json')])
    hash.update(ts.sys.readFile(path)!)
  for (const [file, text] of sources) hash.update(`${file} ${text.length}\n${text}`)
  return hash.digest('hex').slice(0, 32)
}

/** Transpiles into `next`, which becomes `folder` when it is complete. */
async function build(sources: Map<string, string>, folder: string, next: string): Promise<void> {
  const options = compilerOptions()
  await Promise.all(
    [...sources].map(async ([file, text]) => {
      const { outputText } = ts.transpileModule(text, { compilerOptions: options, fileName: file })
      await mkdir(dirname(join(next, file)), { recursive: true })
      await writeFile(join(next, madeName(file)), outputText)
    }),
  )
  await writeFile(join(next, 'package.json'), JSON.stringify(manifest))
  await bundlePrograms([...sources.keys()].filter(isProgram).map(madeName), next)
  for (const name of loaded)
    await writeFile(join(next, bundle, `${name}.js`), `export * from './src/${name}.js'\n`)
  try {
    await rename(next, folder)
  } catch (error) {
    // Another worker built the same at the same time.
    await rm(next, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
  await removeOld()
}

async function bundlePrograms(files: string[], from: string): Promise<void> {
  await bundleWith({
    root: from,
    configFile: false,
    logLevel: 'error',
    // It finds its files beside its own.
    ssr: { noExternal: true, external: ['@electric-sql/pglite'] },
    build: {
      ssr: true,
      outDir: bundle,
      rolldownOptions: {
        input: Object.fromEntries(files.map((file) => [file.replace(/\.js$/, ''), join(from, file)])),
        output: { entryFileNames: '[name].js' },
      },
    },
  })
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  // Transpiling single files reads no package.json, so the module format is set here.
  const emit = { ...config.compilerOptions, noEmit: false, module: 'ESNext', moduleResolution: 'bundler' }
  return ts.convertCompilerOptionsFromJson(emit, root).options
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
