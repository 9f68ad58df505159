/**
 * Builds dist from src when dist was not made from the sources that are there: `npm start` after a `git pull` runs the
 * new code, and a second start builds nothing. Run from the folder of package.json, as npm does.
 *
 *   (no option)  builds when stale; fails when there is nothing to start
 *   --install    the same, but an install without TypeScript (`npm ci --omit=dev`) succeeds and says what is missing
 *   --force      builds in any case
 *
 * dist/.sources holds the hash of what it was built from: contents, because the times of files say nothing after a
 * checkout, a copy or an image build. The build goes to a folder of its own and replaces dist as a whole, so a deleted
 * source leaves nothing behind. A build that fails leaves dist as it was and exits with an error: `npm start` starts nothing then.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const root = process.cwd()
const dist = join(root, 'dist')
const stamp = join(dist, '.sources')

/** The hash of every file that decides what is built; null where there are no sources, as in an image with dist alone. */
function hashOfSources() {
  if (!existsSync(join(root, 'src'))) return null
  const names = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  const hash = createHash('sha256')
  for (const name of [...names, join(root, 'tsconfig.json'), join(root, 'tsconfig.build.json')]) {
    const content = existsSync(name) ? readFileSync(name) : ''
    hash.update(`${name.slice(root.length)} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

function compilerPath() {
  try {
    return createRequire(join(root, 'package.json')).resolve('typescript/bin/tsc')
  } catch {
    return null
  }
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

/** Returns the exit code of the compiler. */
function build(compiler, hash) {
  const next = join(root, `dist-${process.pid}`)
  const previous = `${next}-previous`
  try {
    const options = ['-p', 'tsconfig.build.json', '--outDir', next, '--noEmitOnError']
    const { status } = spawnSync(process.execPath, [compiler, ...options], { cwd: root, stdio: 'inherit' })
    if (status !== 0) return status ?? 1
    writeFileSync(join(next, '.sources'), hash)
    replaceDist(next, previous)
    return 0
  } finally {
    rmSync(next, { recursive: true, force: true })
    rmSync(previous, { recursive: true, force: true })
  }
}

function run(option) {
  const hash = hashOfSources()
  const isBuilt = existsSync(join(dist, 'main.js'))
  const isFresh = isBuilt && (hash === null || (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash))
  if (isFresh && option !== '--force') return 0
  const compiler = compilerPath()
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
