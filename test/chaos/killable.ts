/** A server in a process of its own that a test kills and starts again, with agents that pay at an upstream that counts. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { embeddedDatabase, hasPostgres, postgresDatabase } from '../support/databases.ts'
import { startLoopback } from '../support/loopback.ts'
import { drawn } from '../support/random.ts'
import { startReplica, type Replica } from '../support/replica.ts'

export const key = 'gh_kill_operator_0123456789012345678901234567890123456'
export const first = 'alpha bravo charlie delta echo foxtrot golf hotel india juliett'
export const second = 'kilo lima mike november oscar papa quebec romeo sierra tango'
/** Two texts that take a while, the first one longer than it takes to kill the process, and a call between them. */
export const prompt = `slow 60ms\nsay ${first}\ncall pay {}\nthen\nslow 20ms\nsay ${second}`

/** For what is above the store. */
export const kinds = drawn(['PGlite', ...(hasPostgres ? ['PostgreSQL'] : [])])

export interface Killable {
  /** Where it listens; another one after each start. */
  url(): string
  kill(): Promise<void>
  /** Resolves when the next process listens. */
  start(): Promise<void>
  /** How often the upstream was paid. */
  paid(): number
  /** Ids of the agents: `teller` pays at once, `careful` asks a person first, and both may `ask` the client. */
  agents: Record<'teller' | 'careful', string>
  close(): Promise<void>
}

export async function startKillable(kind: string): Promise<Killable> {
  const { entry } = await buildServer()
  const closers: (() => unknown)[] = []
  const upstream = await startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"paid":true}')
  })
  closers.push(() => upstream.close())
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-killable-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
  closers.push(() => database?.drop())
  if (!database) await embeddedDatabase(folder)
  const settings = {
    GATEHOUSE_DATA_DIR: folder,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_ADMIN_KEY: key,
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEHOUSE_LEASE_MS: '1000',
    GATEHOUSE_EGRESS_ALLOW: upstream.address,
    GATEHOUSE_LOG_LEVEL: 'error',
    ...(database ? { DATABASE_URL: database.url } : {}),
  }
  let replica: Replica
  const start = async () => {
    replica = startReplica(entry, settings)
    await replica.ready
  }
  await start()
  return {
    url: () => replica.url,
    kill: () => replica.kill(),
    start,
    paid: () => upstream.seen.length,
    agents: await makeAgents(replica!.url, `${upstream.url}/pay`),
    async close() {
      await replica.kill()
      for (const close of closers.toReversed()) await close()
    },
  }
}

async function makeAgents(url: string, payUrl: string): Promise<Killable['agents']> {
  const tool = async (name: string, config: object) =>
    (await mutate(url, key, 'createTool', { name, config }, 'tool { id }'))['tool'].id as string
  const inputSchema = { type: 'object' }
  const toolIds = [
    await tool('pay', { http: { url: payUrl, inputSchema } }),
    await tool('ask', { client: { inputSchema } }),
  ]
  const agent = async (name: string, more: object) => {
    const input = { name, model: 'builtin/rehearsal', toolIds, ...more }
    return (await mutate(url, key, 'createAgent', input, 'agent { id }'))['agent'].id as string
  }
  return {
    teller: await agent('teller', {}),
    careful: await agent('careful', { gate: { mode: 'ALWAYS' } }),
  }
}
