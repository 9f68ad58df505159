/** What ends a start: a sentence that names the setting, and no stack. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { namingSettings, startFault } from '../src/start-fault.ts'
import { masterKeyOf, presentKey } from '../src/paths.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'gatehouse-start-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

const faultOf = (starting: Promise<unknown>) =>
  starting.then(
    () => null,
    (error: unknown) => startFault(error),
  )

function listenOn(port: number, host: string): Promise<number> {
  const server = createServer()
  const listening = new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve((server.address() as { port: number }).port))
  })
  return listening.finally(() => server.close())
}

test('an address that cannot be listened on is told of by its setting', async () => {
  const settings = { host: 'GATEHOUSE_HOST', port: 'PORT' }
  const tried = (port: number, host: string) => faultOf(namingSettings(listenOn(port, host), settings))
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  expect(await tried(port, '127.0.0.1')).toContain('PORT names a port that is in use')
  await new Promise((resolve) => taken.close(resolve))
  // Of the network for documentation, which no machine has
  expect(await tried(0, '192.0.2.1')).toContain('GATEHOUSE_HOST names an address that this machine does not')
  expect(await tried(0, 'gatehouse.invalid')).toMatch(
    /GATEHOUSE_HOST names a host that (is not found|cannot)/,
  )
  expect(await namingSettings(listenOn(0, '127.0.0.1'), settings)).toBeGreaterThan(0)
})

test('a key is generated once; without a place for it, or cut off, it ends the start', async () => {
  const config = loadConfig({ GATEHOUSE_DATA_DIR: join(folder, 'data') })
  const key = await masterKeyOf(config)
  expect(key).toHaveLength(32)
  expect(await masterKeyOf(config)).toEqual(key)
  // As a disk that was full at the first start leaves it
  for (const left of ['', key.toString('base64').slice(0, 20)]) {
    await writeFile(join(folder, 'data/secret.key'), left)
    for (const read of [masterKeyOf, presentKey])
      expect(await faultOf(read(config))).toMatch(/secret\.key holds no key of 32 bytes/)
  }
  await writeFile(join(folder, 'file'), '')
  const nowhere = loadConfig({ GATEHOUSE_DATA_DIR: join(folder, 'file/data') })
  expect(await faultOf(masterKeyOf(nowhere))).toMatch(/GATEHOUSE_SECRET_KEY is not set, .* \(ENOTDIR\)/)
})
