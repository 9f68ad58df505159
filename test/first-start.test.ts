/** The first start of an installation: where the operator's key goes, and where it must not. */
import { execSync, spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ask } from './support/ask.ts'
import { buildServer, type Built } from './support/build.ts'
import { startReplica, type Replica } from './support/replica.ts'

let built: Built
let folder: string
let server: Replica | undefined
beforeAll(async () => void (built = await buildServer()))
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'gatehouse-first-'))))
afterEach(async () => {
  await server?.kill()
  await rm(folder, { recursive: true, force: true })
})

const settings = () => ({ GATEHOUSE_PORT: '0', GATEHOUSE_DATA_DIR: join(folder, 'data') })
const keyFile = () => join(folder, 'data/operator.key')
const credentials = /gh_[\w-]{40,}|session\/start/
const nameOf = async (key: string) =>
  (await ask<Record<string, any>>(server!.url, key, '{ viewer { name } }')).data['viewer'].name

test('output that is no terminal has no credential: the key is in a file that only its owner can read', async () => {
  server = startReplica(built.entry, settings())
  await server.ready
  expect(server.output()).not.toMatch(credentials)
  expect(server.output()).toContain(keyFile())
  expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
  expect(await nameOf((await readFile(keyFile(), 'utf8')).trim())).toBe('operator')
  await server.kill()
  server = startReplica(built.entry, settings())
  await server.ready
  expect(server.output()).not.toMatch(credentials)
  const line = server.output().match(/^ +(\S.* open --key-file .*)$/m)![1]!
  const link = execSync(line.replace(/\S+\/dist\/cli\/main\.js/, built.command), { encoding: 'utf8' }).trim()
  expect(link).toMatch(/\/session\/start\?code=gho_[\w-]{43}$/)
  const signedIn = await fetch(link, { redirect: 'manual' })
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/'])
  expect((await fetch(link, { redirect: 'manual' })).status).toBe(410)
})

test('a key that was kept by a start which was cut off is used, and never overwritten', async () => {
  const key = `gh_${'k'.repeat(43)}`
  await mkdir(join(folder, 'data'))
  await writeFile(keyFile(), `${key}\n`, { mode: 0o600 })
  server = startReplica(built.entry, settings())
  await server.ready
  expect(await readFile(keyFile(), 'utf8')).toBe(`${key}\n`)
  expect(await nameOf(key)).toBe('operator')
})

test('where the key cannot be kept, nothing begins', async () => {
  await mkdir(keyFile(), { recursive: true })
  server = startReplica(built.entry, settings())
  await expect(server.ready).rejects.toThrow(/could not be written to .*operator\.key/)
})

/** What the server shows in a terminal until this text has come. */
async function inTerminal(until: string, more: Record<string, string>): Promise<string> {
  const pidFile = join(folder, 'pid')
  const child = spawn(
    'script',
    ['-qec', `echo $$ > ${pidFile}; exec ${process.execPath} ${built.entry}`, '/dev/null'],
    {
      env: { PATH: process.env['PATH'], ...settings(), ...more },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let said = ''
  let isTold = false
  // The terminal ends with its program; one that is told to end does not wait for that.
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (isTold || !said.includes(until)) continue
    isTold = true
    process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGTERM')
  }
  return said
}

const hasScript = spawnSync('script', ['--version']).status === 0
if (!hasScript)
  console.warn('SKIPPED LOUDLY: no `script` of util-linux, so nothing is started in a terminal.')

test.skipIf(!hasScript)(
  'a terminal shows the key and the link, but not in production',
  async () => {
    const shown = await inTerminal('Show its status', {})
    expect(shown).toMatch(/\n {2}gh_[\w-]{43}\r?\n/)
    expect(shown).toContain('/session/start?code=')
    await rm(join(folder, 'data'), { recursive: true })
    const production = {
      NODE_ENV: 'production',
      GATEHOUSE_SECRET_KEY: '00'.repeat(32),
      GATEHOUSE_DRAIN_MS: '0',
    }
    const kept = await inTerminal('operator.key', production)
    expect(kept).not.toMatch(credentials)
  },
  180_000,
)
