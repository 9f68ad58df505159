/** A PostgreSQL cluster for one test, which can kill, stop, back up and restore it. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { appendFile, chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { childrenOf, commandOf, freePort, freezeFamily, killFamily, signal } from './processes.ts'

const run = promisify(execFile)
const home = '/usr/lib/postgresql'

/** The programs of the newest installed version; null when there is none. */
export const postgresBin = existsSync(home)
  ? (readdirSync(home)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(home, version, 'bin'))
      .find((path) => existsSync(join(path, 'initdb'))) ?? null)
  : null

/** Whether clusters can be created here. */
export const hasClusters = postgresBin !== null
if (!hasClusters)
  console.warn(`SKIPPED LOUDLY: no PostgreSQL programs in ${home}; tests that kill a cluster do not run.`)

export interface Cluster {
  url: string
  start(): Promise<void>
  /** `immediate` is a crash by request: no checkpoint, recovery at the next start. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Sends SIGKILL to one client backend that `random` names: the server ends all others and recovers. False when there was none. */
  killBackend(random: () => number): Promise<boolean>
  /** Sends SIGKILL to the server and all its child processes. */
  kill9(): Promise<void>
  /** Stops the server and its processes with SIGSTOP, as a machine that hangs, until `thaw`. */
  freeze(): Promise<void>
  thaw(): void
  /** Starts again after any end, and waits until it accepts connections. */
  restart(): Promise<void>
  /** Copies the running cluster and returns the directory. */
  baseBackup(): Promise<string>
  /** Replaces the data by a backup, as after the loss of a disk, and starts; with settings of a recovery, as far as these say. */
  restore(backup: string, recovery?: Record<string, string>): Promise<void>
  /** What the server has written to its log. */
  log(): Promise<string>
  /** Creates a standby of this cluster, which follows it asynchronously, and starts it. */
  startStandby(): Promise<Cluster>
  /** Stops sending to standbys (SIGSTOP): they do not get what is written from now on. */
  holdReplication(): Promise<void>
  /** Makes a standby the primary, on a new timeline. */
  promote(): Promise<void>
  /** Stops it and deletes everything. */
  remove(): Promise<void>
}

/** Creates a cluster and starts it on a free loopback port; `settings` are server parameters. */
export async function startCluster(settings: Record<string, string> = {}): Promise<Cluster> {
  const folder = await newFolder()
  const words = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  await program('initdb', ['-D', join(folder, 'data'), ...words])
  const cluster = await clusterIn(folder, settings)
  await cluster.start()
  return cluster
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-cluster-'))
  await asOwner('chown', folder)
  await chmod(folder, 0o700)
  return folder
}

/** The cluster whose data is in this folder, on a port of its own. */
async function clusterIn(folder: string, settings: Record<string, string>): Promise<Cluster> {
  const data = join(folder, 'data')
  const port = await freePort()
  const options = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: "''",
    log_min_error_statement: 'panic',
    port: String(port),
    ...settings,
  }
  const flags = Object.entries(options).map(([name, value]) => `-c ${name}=${value}`)
  let backups = 0
  let frozen: number[] = []
  const control = (...words: string[]) => program('pg_ctl', ['-D', data, '-w', '-t', '60', ...words])
  const log = join(folder, 'log')
  const copyTo = (target: string, ...words: string[]) =>
    program('pg_basebackup', [
      '-D',
      target,
      '-h',
      '127.0.0.1',
      '-p',
      String(port),
      '-U',
      'postgres',
      '-c',
      'fast',
      ...words,
    ])
  const postmaster = async () => Number((await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const cluster: Cluster = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start: () =>
      control('start', '-s', '-l', log, '-o', flags.join(' ')).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${(await readFile(log, 'utf8')).slice(-2000)}`)
      }),
    stop: (mode) => control('stop', '-s', '-m', mode),
    async killBackend(random) {
      const backends = childrenOf(await postmaster()).filter((pid) => commandOf(pid).includes('127.0.0.1('))
      if (backends.length === 0) return false
      signal(backends[Math.floor(random() * backends.length)]!)
      return true
    },
    async kill9() {
      const pid = await postmaster()
      await killFamily(pid)
      // Where no parent reaps zombies, the process id seems alive to the next server.
      await rm(join(data, 'postmaster.pid'), { force: true })
    },
    async freeze() {
      frozen = freezeFamily(await postmaster())
    },
    thaw() {
      for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT')
    },
    restart: () => cluster.start(),
    async baseBackup() {
      const target = join(folder, `backup-${++backups}`)
      await copyTo(target)
      return target
    },
    async startStandby() {
      const own = await newFolder()
      await copyTo(join(own, 'data'), '-R')
      const standby = await clusterIn(own, settings)
      await standby.start()
      return standby
    },
    async holdReplication() {
      const senders = childrenOf(await postmaster()).filter((pid) => commandOf(pid).includes('walsender'))
      if (senders.length === 0) throw new Error('No standby follows this cluster.')
      for (const pid of senders) signal(pid, 'SIGSTOP')
    },
    promote: () => control('promote', '-s'),
    async restore(backup, recovery) {
      await rm(data, { recursive: true, force: true })
      await cp(backup, data, { recursive: true, preserveTimestamps: true })
      if (recovery) {
        const lines = Object.entries(recovery).map(([name, value]) => `${name} = '${value}'\n`)
        await appendFile(join(data, 'postgresql.auto.conf'), lines.join(''))
        await writeFile(join(data, 'recovery.signal'), '')
      }
      await asOwner('chown', '-R', data)
      await cluster.start()
    },
    log: () => readFile(log, 'utf8'),
    async remove() {
      cluster.thaw()
      await cluster.stop('immediate').catch(() => {})
      await rm(folder, { recursive: true, force: true })
    },
  }
  return cluster
}

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0

async function program(name: string, words: string[]): Promise<void> {
  const path = join(postgresBin!, name)
  if (isRoot) await run('runuser', ['-u', 'postgres', '--', path, ...words], { cwd: '/' })
  else await run(path, words)
}

async function asOwner(command: 'chown', ...words: string[]): Promise<void> {
  if (!isRoot) return
  const paths = words.filter((word) => !word.startsWith('-'))
  const flags = words.filter((word) => word.startsWith('-'))
  await run(command, [...flags, 'postgres:', ...paths])
}
