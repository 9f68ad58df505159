/**
 * PostgreSQL under Patroni with a synchronous standby, etcd and HAProxy, as Debian packages them, with the files of
 * deploy/failover: nodes are killed, frozen and switched over.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { postgresBin } from './cluster.ts'
import { freePort, freezeFamily, isAlive, killFamily, signal } from './processes.ts'

const programs = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' }
const missing = Object.values(programs).filter((path) => !existsSync(path))

/** Whether such a cluster can be started here. */
export const hasPatroni = missing.length === 0 && postgresBin !== null
if (!hasPatroni)
  console.warn(`SKIPPED LOUDLY: no ${missing.join(', ')}; tests that fail over under Patroni do not run.`)

export interface PatroniCluster {
  /** The address of a new database: behind HAProxy, or naming every node. */
  createDatabase(name: string): Promise<Record<'proxy' | 'hosts', string>>
  /** The name of the leader, once there is one. */
  leader(): Promise<string>
  /** Kills Patroni and PostgreSQL of a node with SIGKILL, as the loss of a machine does. */
  kill(name: string): Promise<void>
  /** Starts a node that was killed. */
  start(name: string): void
  /** Stops every process of a node with SIGSTOP, as a machine that hangs. */
  freeze(name: string): Promise<void>
  thaw(name: string): void
  /** Asks the leader to hand over to its synchronous standby. */
  switchOver(): Promise<void>
  /** Resolves when every node runs and follows the leader. */
  isWhole(): Promise<void>
  /** What Patroni and PostgreSQL of a node have written to their logs. */
  log(name: string): Promise<string>
  remove(): Promise<void>
}

const password = 'of-these-tests'
const deploy = resolve(import.meta.dirname, '../../deploy/failover')

interface Node {
  name: string
  folder: string
  port: number
  api: number
  env: Record<string, string>
  file: string
  patroni: ChildProcess | null
  frozen: number[]
}

interface Member {
  name: string
  role: string
  state: string
}

const isAtWork = ({ state }: Member) => state === 'running' || state === 'streaming'

/** Starts etcd, three nodes and HAProxy on free ports of loopback. Resolves when the cluster is whole. */
export async function startPatroni(): Promise<PatroniCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-patroni-'))
  await chmod(folder, 0o755)
  const children: ChildProcess[] = []
  const etcd = await startEtcd(folder, children)
  const nodes = await Promise.all(['db1', 'db2', 'db3'].map((name) => makeNode(name, folder, etcd)))
  const proxyPort = await startProxy(folder, nodes, children)
  const nodeOf = (name: string) => nodes.find((one) => one.name === name)!
  const members = () => membersBy(nodes)
  const withRole = async (role: string) => {
    for (;;) {
      const found = (await members()).find((one) => one.role === role && isAtWork(one))
      if (found) return found.name
      await pause(100)
    }
  }
  const cluster: PatroniCluster = {
    async createDatabase(name) {
      const leader = nodeOf(await cluster.leader())
      const sql = postgres(`postgres://postgres:${password}@127.0.0.1:${leader.port}/postgres`, { max: 1 })
      // As an installation has it: a role without rights beyond its own database.
      await sql.unsafe(`create role ${name} login password '${password}'`)
      await sql.unsafe(`create database ${name} owner ${name}`)
      await sql.end()
      const address = (hosts: string) => `postgres://${name}:${password}@${hosts}/${name}`
      return {
        proxy: address(`127.0.0.1:${proxyPort}`),
        hosts: address(nodes.map(({ port }) => `127.0.0.1:${port}`).join()),
      }
    },
    leader: () => withRole('leader'),
    async kill(name) {
      const node = nodeOf(name)
      const postmaster = await postmasterOf(node)
      node.patroni!.kill('SIGKILL')
      if (postmaster) await killFamily(postmaster)
      // Where no parent reaps zombies, the process id seems alive to the next server.
      await rm(join(node.folder, 'data/postmaster.pid'), { force: true })
    },
    start: (name) => startNode(nodeOf(name), children),
    async freeze(name) {
      const node = nodeOf(name)
      const postmaster = await postmasterOf(node)
      node.frozen = [node.patroni!.pid!, ...(postmaster ? [postmaster] : [])].flatMap(freezeFamily)
    },
    thaw(name) {
      for (const pid of nodeOf(name).frozen.splice(0)) signal(pid, 'SIGCONT')
    },
    async switchOver() {
      const leader = nodeOf(await cluster.leader())
      const candidate = await withRole('sync_standby')
      const response = await fetch(`http://127.0.0.1:${leader.api}/switchover`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`patroni:${password}`)}` },
        body: JSON.stringify({ leader: leader.name, candidate }),
      })
      if (!response.ok) throw new Error(`No switchover: ${response.status} ${await response.text()}`)
    },
    async isWhole() {
      while ((await members()).filter(isAtWork).length < nodes.length) await pause(300)
      await withRole('sync_standby')
    },
    log: (name) => readFile(join(nodeOf(name).folder, 'log'), 'utf8'),
    async remove() {
      for (const node of nodes) {
        cluster.thaw(node.name)
        await cluster.kill(node.name)
      }
      for (const child of children) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
  for (const node of nodes) startNode(node, children)
  await cluster.isWhole()
  return cluster
}

async function startEtcd(folder: string, children: ChildProcess[]): Promise<string> {
  const [client, peer] = [await freePort(), await freePort()]
  const at = (port: number) => `http://127.0.0.1:${port}`
  const data = join(folder, 'etcd')
  await mkdir(data, { mode: 0o700 })
  await own(data)
  const words = ['--enable-v2', `--data-dir=${data}`, `--listen-client-urls=${at(client)}`]
  words.push(`--advertise-client-urls=${at(client)}`, `--listen-peer-urls=${at(peer)}`)
  words.push(`--initial-advertise-peer-urls=${at(peer)}`, `--initial-cluster=default=${at(peer)}`)
  children.push(run(programs.etcd, words, {}, join(folder, 'etcd.log')))
  for (;;) {
    const health = await fetch(`${at(client)}/health`).catch(() => null)
    if (health?.ok) return `127.0.0.1:${client}`
    await pause(100)
  }
}

async function makeNode(name: string, parent: string, etcd: string): Promise<Node> {
  const folder = join(parent, name)
  await mkdir(folder, { mode: 0o700 })
  await own(folder)
  const [port, api] = [await freePort(), await freePort()]
  const env = {
    PATRONI_NAME: name,
    PATRONI_ETCD_HOSTS: etcd,
    PATRONI_RESTAPI_LISTEN: `127.0.0.1:${api}`,
    PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${api}`,
    PATRONI_RESTAPI_USERNAME: 'patroni',
    PATRONI_RESTAPI_PASSWORD: password,
    PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
    PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
    PATRONI_POSTGRESQL_DATA_DIR: join(folder, 'data'),
    PATRONI_POSTGRESQL_BIN_DIR: postgresBin!,
    PATRONI_POSTGRESQL_PGPASS: join(folder, 'pgpass'),
    PATRONI_SUPERUSER_PASSWORD: password,
    PATRONI_REPLICATION_PASSWORD: password,
  }
  // The folder of the sockets of the file may be another server's.
  const file = await copyOf('patroni.yml', folder, { '/var/run/postgresql': folder })
  return { name, folder, port, api, env, file, patroni: null, frozen: [] }
}

function startNode(node: Node, children: ChildProcess[]): void {
  node.patroni = run(programs.patroni, [node.file], node.env, join(node.folder, 'log'))
  children.push(node.patroni)
}

/** Writes a file of deploy/failover with other texts in place of some of it. */
async function copyOf(name: string, folder: string, replaced: Record<string, string>): Promise<string> {
  let text = await readFile(join(deploy, name), 'utf8')
  for (const [from, to] of Object.entries(replaced)) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    text = text.replace(from, to)
  }
  const file = join(folder, name)
  await writeFile(file, text)
  return file
}

/** HAProxy with the addresses of these nodes in place of those of the file. */
async function startProxy(folder: string, nodes: Node[], children: ChildProcess[]): Promise<number> {
  const port = await freePort()
  const servers = nodes.map(({ name, port: at, api }) => [
    `${name}:5432 check port 8008`,
    `127.0.0.1:${at} check port ${api}`,
  ])
  const replaced = { 'bind :5432': `bind 127.0.0.1:${port}`, ...Object.fromEntries(servers) }
  const file = await copyOf('haproxy.cfg', folder, replaced)
  children.push(run(programs.haproxy, ['-db', '-f', file], {}, join(folder, 'haproxy.log')))
  return port
}

async function membersBy(nodes: readonly Node[]): Promise<Member[]> {
  for (const { api, frozen } of nodes) {
    if (frozen.length > 0) continue
    const told = await fetch(`http://127.0.0.1:${api}/cluster`, { signal: AbortSignal.timeout(2000) }).then(
      async (response) => ((await response.json()) as { members?: Member[] }).members,
      () => undefined,
    )
    if (told) return told
  }
  return []
}

async function postmasterOf({ folder }: Node): Promise<number | null> {
  const text = await readFile(join(folder, 'data/postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  return pid > 0 && isAlive(pid) ? pid : null
}

/** PostgreSQL and Patroni refuse to run as root. */
const owner = process.getuid?.() === 0 && hasPatroni ? idsOf('postgres') : null

function idsOf(name: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function own(path: string): Promise<void> {
  if (owner) await chown(path, owner.uid, owner.gid)
}

function run(program: string, words: string[], env: Record<string, string>, log: string): ChildProcess {
  const kept = { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8' }
  const child = spawn(program, words, { cwd: '/', env: { ...kept, ...env }, ...owner })
  const keep = (chunk: Buffer) => void appendFile(log, chunk).catch(() => {})
  child.stdout!.on('data', keep)
  child.stderr!.on('data', keep)
  return child
}
