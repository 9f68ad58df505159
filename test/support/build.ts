/** The server as plain JavaScript for tests that start processes: made from the sources in a second, never stale. */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')

/**
 * Transpiles src into a fresh folder inside node_modules, from where packages and migrations are found. Types are not
 * checked. `remove` deletes it.
 */
export async function buildServer(): Promise<{ entry: string; remove(): Promise<void> }> {
  const cache = join(root, 'node_modules', '.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'gatehouse-'))
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  // One file at a time there is no package.json to be read, so the module format is said here.
  const emit = { ...config.compilerOptions, noEmit: false, module: 'ESNext', moduleResolution: 'bundler' }
  const { options } = ts.convertCompilerOptionsFromJson(emit, root)
  const files = await readdir(join(root, 'src'), { recursive: true })
  await Promise.all(
    files
      .filter((file) => file.endsWith('.ts'))
      .map(async (file) => {
        const source = await readFile(join(root, 'src', file), 'utf8')
        const { outputText } = ts.transpileModule(source, { compilerOptions: options, fileName: file })
        const target = join(folder, file.replace(/\.ts$/, '.js'))
        await mkdir(dirname(target), { recursive: true })
        await writeFile(target, outputText)
      }),
  )
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return { entry: join(folder, 'main.js'), remove: () => rm(folder, { recursive: true, force: true }) }
}
