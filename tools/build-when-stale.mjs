/**
 * Builds dist when it was not made from the sources that are there: its programs from src and cli, dist/client from client and
 * dist/web from web. `npm start` after a `git pull` runs the new code, and a second start builds nothing. Run from the folder of
 * package.json, as npm does.
 *
 *   (no option)  builds when stale; fails when there is nothing to start
 *   --install    the same, but an install without TypeScript (`npm ci --omit=dev`) succeeds and says what is missing
 *   --force      builds in any case
 *   --web        builds only dist/web, when it is stale: what tests in a browser need
 *
 * dist/.sources holds the hash of what it was built from: contents, because the times of files say nothing after a
 * checkout, a copy or an image build. The build goes to a folder of its own and replaces dist as a whole, so a deleted
 * source leaves nothing behind. A build that fails leaves dist as it was and exits with an error: `npm start` starts nothing then.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const root = process.cwd()
const dist = join(root, 'dist')
const stamp = join(dist, '.sources')
const bundle = join(import.meta.dirname, 'bundle.mjs')
/** The compiler options of the client, which a checkout without it does not have. */
const clientConfig = 'tsconfig.client.json'

/** The hash of every file that decides what is built; null where there are no sources, as in an image with dist alone. */
function hashOfSources() {
  if (!existsSync(join(root, 'src'))) return null
  const configs = ['tsconfig.json', clientConfig].map((name) => join(root, name))
  return hashOf([...['src', 'client', 'cli', 'web'].flatMap(filesIn), ...configs, bundle])
}

function hashOf(names) {
  const hash = createHash('sha256')
  for (const name of names) {
    const content = existsSync(name) ? readFileSync(name) : ''
    hash.update(`${name.slice(root.length)} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

function filesIn(folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
}

/** The dashboard reads JSON as the server does. */
function webSources() {
  return [...filesIn('web'), join(root, 'src/core/exact-json.ts')]
}

function pathOf(name) {
  try {
    return createRequire(join(root, 'package.json')).resolve(name)
  } catch {
    return null
  }
}

/** The program of vite, which its package does not export. */
function bundlerPath() {
  const manifest = pathOf('vite/package.json')
  return manifest && join(dirname(manifest), 'bin/vite.js')
}

/** Another start may do the same at the same time, from the same sources: whichever dist stands in the end is right. */
function replaceDist(next, previous) {
  try {
    renameSync(dist, previous)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  try {
    renameSync(next, dist)
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  }
}

// The tests set NODE_ENV, with which the page would be built with React's development version.
const env = { ...process.env, NODE_ENV: 'production' }
const runNode = (...args) =>
  spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1

/** Returns the exit code of the compiler, or of the bundler. Types are for `npm run check`: they are most of the time of a build. */
function build(compiler, hash) {
  const next = join(root, `dist-${process.pid}`)
  const previous = `${next}-previous`
  try {
    const status =
      runNode(bundle, root, next, 'apart') || buildClient(compiler, next) || buildWeb(join(next, 'web'))
    if (status !== 0) return status
    writeFileSync(join(next, '.sources'), hash)
    replaceDist(next, previous)
    return 0
  } finally {
    rmSync(next, { recursive: true, force: true })
    rmSync(previous, { recursive: true, force: true })
  }
}

/** Modules and types for programs of others. A checkout without client has none. */
function buildClient(compiler, outDir) {
  if (!existsSync(join(root, clientConfig))) return 0
  return runNode(compiler, '-p', clientConfig, '--outDir', outDir, '--noCheck', '--noEmitOnError')
}

/** Bundles the dashboard. A checkout without web has none. */
function buildWeb(outDir) {
  if (!existsSync(join(root, 'web'))) return 0
  const bundler = bundlerPath()
  if (bundler) {
    const status = runNode(bundler, 'build', 'web', '--outDir', outDir, '--logLevel', 'warn')
    if (status === 0) writeFileSync(join(outDir, '.sources'), hashOf(webSources()))
    return status
  }
  console.error('vite, a development dependency, is not installed.')
  return 1
}

function runWeb() {
  const built = join(dist, 'web', '.sources')
  const isFresh = existsSync(built) && readFileSync(built, 'utf8') === hashOf(webSources())
  return isFresh ? 0 : buildWeb(join(dist, 'web'))
}

function run(option) {
  if (option === '--web') return runWeb()
  const hash = hashOfSources()
  const isBuilt = existsSync(join(dist, 'main.js'))
  const isFresh = isBuilt && (hash === null || (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash))
  if (isFresh && option !== '--force') return 0
  const compiler = pathOf('typescript/bin/tsc')
  if (compiler && hash) return build(compiler, hash)
  const state = isBuilt ? 'dist was not built from these sources' : 'dist/main.js is missing'
  const obstacle = compiler
    ? 'there is no src folder'
    : 'TypeScript, a development dependency, is not installed'
  console.error(`${state}, and ${obstacle}. To build it, in a full checkout: npm ci && npm run build`)
  const mayGoOn = option === '--install' || (isBuilt && option !== '--force')
  return mayGoOn ? 0 : 1
}

process.exitCode = run(process.argv[2])
