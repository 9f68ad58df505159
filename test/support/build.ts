/** The server as plain JavaScript for tests that start processes: built from the sources in a second, never stale. */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')

/** Servers that kill themselves at a point that the test names. */
const victims = ['test/support/victim.ts', 'test/support/nested-victim.ts'] as const
/** What they import beside src. */
const shared = ['test/support/one-line.ts']

export interface Built {
  /** The server as `npm start` runs it. */
  entry: string
  /** The path of a victim's JavaScript. */
  victim(source: (typeof victims)[number]): string
  remove(): Promise<void>
}

/**
 * Transpiles src and the victims into a fresh folder inside node_modules, where packages and migrations are found. Does
 * not check types. `remove` deletes the folder.
 */
export async function buildServer(): Promise<Built> {
  const folder = await mkdtemp(join(root, 'node_modules', '.gatehouse-'))
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  // Transpiling single files reads no package.json, so the module format is set here.
  const emit = { ...config.compilerOptions, noEmit: false, module: 'ESNext', moduleResolution: 'bundler' }
  const { options } = ts.convertCompilerOptionsFromJson(emit, root)
  const made = (file: string) => join(folder, file.replace(/\.ts$/, '.js'))
  const files = (await readdir(join(root, 'src'), { recursive: true })).filter((file) => file.endsWith('.ts'))
  await Promise.all(
    [...files.map((file) => `src/${file}`), ...victims, ...shared].map(async (file) => {
      const source = await readFile(join(root, file), 'utf8')
      const { outputText } = ts.transpileModule(source, { compilerOptions: options, fileName: file })
      await mkdir(dirname(made(file)), { recursive: true })
      await writeFile(made(file), outputText)
    }),
  )
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return {
    entry: made('src/main.ts'),
    victim: made,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
