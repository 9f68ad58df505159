/** OpenStack Swift with its S3 API, as Debian packages it: an object store that somebody else has written. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { s3Requests, type S3Settings } from '../../src/store/blobs/s3/requests.ts'

const servers = ['account', 'container', 'object'] as const

/** Whether it is installed: apt-get install swift-proxy swift-account swift-container swift-object. */
export const hasSwift = [...servers, 'proxy'].every((name) => existsSync(`/usr/bin/swift-${name}-server`))
if (!hasSwift) console.warn('SKIPPED LOUDLY: no OpenStack Swift; what it judges does not run.')

export interface Swift {
  settings(more?: Partial<S3Settings>): S3Settings
  stop(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts it on free ports, with one bucket, below the folder of temporary files. */
export async function startSwift(): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-swift-'))
  const running: ChildProcess[] = []
  const exits: Promise<unknown>[] = []
  const stop = async () => {
    for (const child of running) child.kill('SIGKILL')
    await Promise.all(exits)
    await rm(folder, { recursive: true, force: true })
  }
  const common = (port: number) =>
    `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nworkers = 0\nuser = ${userInfo().username}\n` +
    `swift_dir = ${folder}\ndevices = ${folder}/disks\nmount_check = false\n`
  const start = async (name: string, port: number, rest: string) => {
    const path = join(folder, `${name}.conf`)
    await writeFile(path, `${common(port)}${rest}`)
    const child = spawn(`/usr/bin/swift-${name}-server`, [path], { stdio: 'ignore' })
    running.push(child)
    exits.push(new Promise((resolve) => child.once('exit', resolve)))
  }
  try {
    await mkdir(join(folder, 'disks', 'd1'), { recursive: true })
    for (const name of servers) {
      const port = await freePort()
      const ring = (...args: string[]) =>
        execFileSync('/usr/bin/swift-ring-builder', [join(folder, `${name}.builder`), ...args])
      ring('create', '4', '1', '1')
      ring('add', `r1z1-127.0.0.1:${port}/d1`, '1')
      ring('rebalance')
      await start(
        name,
        port,
        `[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`,
      )
    }
    const port = await freePort()
    await start('proxy', port, proxy)
    const url = `http://127.0.0.1:${port}`
    const settings: Swift['settings'] = (more = {}) => ({ ...identity, ...placeOf(url), ...more })
    await makeBucket(settings())
    return { settings, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const bucket = 'files-of-tests'
const placeOf = (url: string) => ({ bucket, url: `${url}/${bucket}`, publicUrl: `${url}/${bucket}` })
const identity = {
  region: 'eu-central-1',
  accessKeyId: 'test:tester',
  secretAccessKey: 'testing',
  sessionToken: null,
}

const proxy = `[pipeline:main]
pipeline = catch_errors gatekeeper cache s3api tempauth copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = eu-central-1
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
`

async function makeBucket(settings: S3Settings): Promise<void> {
  const requests = s3Requests(settings)
  try {
    await vi.waitFor(() => requests.send({ method: 'PUT', key: '' }), { timeout: 120_000, interval: 500 })
  } finally {
    await requests.close()
  }
}
