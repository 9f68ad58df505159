/** The server as plain JavaScript for tests that start processes: built once for the same sources, never stale. */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')
/** Folders of this prefix inside node_modules, where packages and migrations are found from. */
const cache = join(root, 'node_modules')
const prefix = '.gatehouse-'
const keptMs = 24 * 3_600_000

/** Servers that kill themselves at a point that the test names. */
const victims = ['test/support/victim.ts', 'test/support/nested-victim.ts'] as const
/** What they import beside src. */
const shared = ['test/support/one-line.ts']

export interface Built {
  /** The server as `npm start` runs it. */
  entry: string
  /** The command line as `npx gatehouse` runs it. */
  command: string
  /** The path of a victim's JavaScript. */
  victim(source: (typeof victims)[number]): string
  /**
   * Writes a program beside `entry`, which may import the server's files and gatehouse/client, and returns its path. The
   * caller removes it.
   */
  program(text: string): Promise<string>
}

/**
 * Transpiles src, client, cli and the victims, without checking types. All test files and runs share a folder whose name is the hash
 * of the sources: it is complete from the moment it exists, and what was built is not changed.
 */
export async function buildServer(): Promise<Built> {
  const sources = await readSources()
  const folder = join(cache, `${prefix}${hashOf(sources)}`)
  if (!(await exists(folder))) await build(sources, folder)
  const made = (file: string) => join(folder, madeName(file))
  return {
    entry: made('src/main.ts'),
    command: made('cli/main.ts'),
    victim: made,
    async program(text) {
      const path = join(folder, 'src', `program-${randomUUID()}.js`)
      await writeFile(path, text)
      return path
    },
  }
}

/** The package by its own name, so that programs import the client as everybody does. */
const manifest = { name: 'gatehouse', type: 'module', exports: { './client': './client/index.js' } }

const madeName = (file: string) => file.replace(/\.ts$/, '.js')

/** The text of each source by its path in the repository. */
async function readSources(): Promise<Map<string, string>> {
  const found = await Promise.all(
    ['src', 'client', 'cli'].map(async (part) =>
      (await readdir(join(root, part), { recursive: true })).map((name) => `${part}/${name}`),
    ),
  )
  const names = found.flat().filter((name) => name.endsWith('.ts'))
  const files = [...names.toSorted(), ...victims, ...shared]
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(root, file), 'utf8')] as const)),
  )
}

function hashOf(sources: Map<string, string>): string {
  const hash = createHash('sha256').update(ts.version)
  for (const path of [import.meta.filename, join(root, 'tsconfig.json')]) hash.update(ts.sys.readFile(path)!)
  for (const [file, text] of sources) hash.update(`${file} ${text.length}\n${text}`)
  return hash.digest('hex').slice(0, 32)
}

async function build(sources: Map<string, string>, folder: string): Promise<void> {
  const next = await mkdtemp(join(cache, `${prefix}next-`))
  const options = compilerOptions()
  await Promise.all(
    [...sources].map(async ([file, text]) => {
      const { outputText } = ts.transpileModule(text, { compilerOptions: options, fileName: file })
      await mkdir(dirname(join(next, file)), { recursive: true })
      await writeFile(join(next, madeName(file)), outputText)
    }),
  )
  await writeFile(join(next, 'package.json'), JSON.stringify(manifest))
  // Where the command line expects the server to be.
  await writeFile(join(next, 'main.js'), "import './src/main.js'\n")
  try {
    await rename(next, folder)
  } catch (error) {
    // Another worker built the same at the same time.
    await rm(next, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
  await removeOld()
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
