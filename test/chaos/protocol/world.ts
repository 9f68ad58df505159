/** The real system under the protocol model: replicas that can be cut off, people with keys, tools and an agent. */
import { sql } from 'drizzle-orm'
import postgres from 'postgres'
import { query } from '../../../src/store/db/database.ts'
import { ask, mutate, mutationText } from '../../support/ask.ts'
import { memoryDatabase, postgresDatabase } from '../../support/databases.ts'
import { startDatabaseProxy, type DatabaseProxy } from '../../support/database-proxy.ts'
import { followFeed, type FeedReader } from '../../support/feed-readers.ts'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startModelUpstream, type ModelUpstream } from './upstream.ts'

export const leaseMs = 1000
/** A cut is longer than the lease, and shorter than a late outcome is kept. */
const longestCutMs = leaseMs * 2.5

export type Kind = 'PostgreSQL' | 'PGlite'
export const persons = ['operator', 'admin', 'otherAdmin', 'approver', 'otherApprover', 'caller'] as const
export type Person = (typeof persons)[number]
export const gatedTools = ['pay', 'refund'] as const

/**
 * Where a replica is cut off: at once, at its next statement of that kind, or, whichever replica it is, between the
 * commit of a call and its request, or between its last reads of an approval and its tool.
 */
export const cutPoints = [
  'atOnce',
  'beforeWire',
  'readsTool',
  'looks',
  'commits',
  'beats',
  'decides',
] as const
export type CutPoint = (typeof cutPoints)[number]

const statementsAt: Record<Exclude<CutPoint, 'atOnce' | 'beforeWire'>, RegExp> = {
  // Between the approval and the tool, which a worker reads before it sends an approved call.
  readsTool: /from "?tools"?\s+where id in/i,
  looks: /from "?generations"?\s+where id = \$\d+ and epoch/i,
  commits: /^\s*with g as \(update (generations|tool_calls)/i,
  beats: /for update of t skip locked/i,
  decides: /^\s*with a as \(update approvals/i,
}

export interface World {
  kind: Kind
  upstream: ModelUpstream
  keys: Record<Person, { id: string; secret: string; role: string }>
  tools: Record<'charge' | 'pay' | 'refund' | 'ask', string>
  agentId: string
  databaseUrl: string | null
  readers: FeedReader[]
  rows<Row = Record<string, any>>(text: string): Promise<Row[]>
  /** The replica that people reach now: never one that is cut off. */
  reachable(wanted: number): number
  /**
   * A mutation by that person; returns its response, or its error code. Null when the replica is cut off before it
   * responds: then `told` gets the response later.
   */
  request(
    replica: number,
    by: Person,
    name: string,
    input: object,
    fields: string,
    told?: (answer: Answer) => void,
  ): Promise<Answer | null>
  cutOff(replica: number, point: CutPoint): void
  standing(): number | null
  thaw(): void
  /** Resolves when every request has its response. */
  idle(): Promise<void>
  changeTool(name: 'pay' | 'refund'): Promise<void>
  close(): Promise<void>
}

export type Answer = Record<string, any> & { code?: string }

export async function openWorld(kind: Kind): Promise<World> {
  const closers: (() => unknown)[] = []
  const upstream = await startModelUpstream()
  closers.push(() => upstream.close())
  const made = kind === 'PostgreSQL' ? await postgresDatabase() : null
  if (made) closers.push(() => made.drop())
  const parts = (replica: number) => ({ egress: { lookup: () => upstream.lookup(replica) } })
  const proxies: DatabaseProxy[] = []
  const replicas: Harness[] = []
  for (let i = 0; made && i < 2; i++) {
    const proxy = await startDatabaseProxy(made.url)
    proxies.push(proxy)
    closers.push(() => proxy.close())
    const replica = await openHarness({ databaseUrl: proxy.url, leaseMs }, parts(i))
    replicas.push(replica)
    closers.push(() => replica.stop())
  }
  if (!made) {
    replicas.push(await openHarness({ leaseMs }, { ...parts(0), database: await memoryDatabase() }))
    closers.push(() => replicas[0]!.stop())
  }
  const people = await makePeople(replicas[0]!)
  const things = await makeThings(replicas[0]!.url, upstream.url)
  const client = made && postgres(made.url, { max: 2, onnotice: () => {} })
  if (client) closers.push(() => client.end({ timeout: 1 }))
  const readers = replicas.map(({ url }) => followFeed({ url, key: adminKey, after: '0' }))
  closers.push(() => Promise.all(readers.map((reader) => reader.close())))
  const cuts = makeCuts(proxies, upstream)
  closers.push(() => cuts.thaw())
  const versions = { pay: 1, refund: 1 }
  const open = new Set<Promise<unknown>>()
  return {
    kind,
    upstream,
    keys: people,
    ...things,
    databaseUrl: made?.url ?? null,
    readers,
    rows: (text) =>
      (client ? client.unsafe(text) : query(replicas[0]!.app.services.db, sql.raw(text))) as Promise<never>,
    reachable: (wanted) => {
      const replica = wanted % replicas.length
      return cuts.standing() === replica ? (replica + 1) % replicas.length : replica
    },
    request(replica, by, name, input, fields, told = () => {}) {
      const { secret } = people[by]
      const asked = ask(replicas[replica]!.url, secret, mutationText(name, fields), { input }).then(
        ({ data, errors }): Answer =>
          data?.[name] ?? { code: String(errors?.[0]?.extensions?.['code'] ?? 'NO_ANSWER') },
        (): Answer => ({ code: 'NO_ANSWER' }),
      )
      const heard = asked.then((answer) => (told(answer), answer))
      open.add(heard)
      void heard.finally(() => open.delete(heard))
      return Promise.race([heard, cuts.isCut(replica).then(() => null)])
    },
    cutOff: cuts.cutOff,
    standing: cuts.standing,
    thaw: cuts.thaw,
    idle: async () => void (await Promise.all(open)),
    async changeTool(name) {
      const config = toolConfig(upstream.url, name, ++versions[name])
      const { url } = replicas[cuts.standing() === 0 ? 1 : 0]!
      await mutate(url, adminKey, 'updateTool', { id: things.tools[name], config }, 'tool { id }')
    },
    async close() {
      for (const close of closers.toReversed()) await close()
    },
  }
}

/** At most one replica is cut off at a time, and for a limited time. */
function makeCuts(proxies: DatabaseProxy[], upstream: ModelUpstream) {
  let cut: number | null = null
  let timer: NodeJS.Timeout | undefined
  const waiting: { replica: number; tell: () => void }[] = []
  const freeze = (replica: number) => {
    cut = replica
    upstream.onLookup = null
    proxies[replica]!.judge = null
    proxies[replica]!.freeze()
    timer = setTimeout(thaw, longestCutMs)
    for (const { tell } of waiting.filter((one) => one.replica === replica)) tell()
  }
  const thaw = () => {
    clearTimeout(timer)
    cut = null
    upstream.onLookup = null
    for (const proxy of proxies) {
      proxy.judge = null
      proxy.thaw()
    }
  }
  return {
    thaw,
    standing: () => cut,
    isCut: (replica: number) =>
      cut === replica ? Promise.resolve() : new Promise<void>((tell) => void waiting.push({ replica, tell })),
    cutOff(replica: number, point: CutPoint) {
      if (point === 'atOnce') return freeze(replica)
      if (point === 'beforeWire') {
        upstream.holdNames()
        upstream.onLookup = freeze
        return
      }
      for (const [i, proxy] of proxies.entries()) {
        if (point !== 'readsTool' && i !== replica) continue
        let before = ''
        proxy.judge = ({ text }) => {
          const meant = point !== 'readsTool' || readsApproval.test(before)
          before = text
          if (!meant || cut !== null || !statementsAt[point].test(text)) return 'pass'
          freeze(i)
          return 'freeze'
        }
      }
    },
  }
}

const readsApproval = /from "?approvals"?\s+where id in/i

async function makePeople(h: Harness): Promise<World['keys']> {
  const { data } = await h.gql('{ viewer { id } }')
  const roles = {
    admin: 'ADMIN',
    otherAdmin: 'ADMIN',
    approver: 'APPROVER',
    otherApprover: 'APPROVER',
    caller: 'CALLER',
  }
  const keys: Record<string, { id: string; secret: string; role: string }> = {
    operator: { id: data['viewer'].id, secret: adminKey, role: 'admin' },
  }
  for (const [name, role] of Object.entries(roles)) {
    const made = await h.mutate('createApiKey', { name, role }, 'apiKey { id } secret')
    keys[name] = { id: made['apiKey'].id, secret: made['secret'], role: role.toLowerCase() }
  }
  return keys as World['keys']
}

const schema = objectSchema({ n: { type: 'string' }, amount: { type: 'number' } }, ['n'])

function toolConfig(base: string, name: string, version: number) {
  return { http: { url: `${base}/${name}/${version}`, method: 'POST', inputSchema: schema } }
}

/** From this amount on the agent's gate requires an admin. */
export const largeAmount = 1000

async function makeThings(url: string, base: string): Promise<Pick<World, 'tools' | 'agentId'>> {
  const tool = async (name: string, config: object, more: object = {}) =>
    (await mutate(url, adminKey, 'createTool', { name, config, ...more }, 'tool { id }'))['tool'].id as string
  const tools = {
    charge: await tool('charge', toolConfig(base, 'charge', 1)),
    pay: await tool('pay', toolConfig(base, 'pay', 1), {
      gate: { mode: 'ALWAYS', quorum: 2, excludeRequester: true },
    }),
    refund: await tool('refund', toolConfig(base, 'refund', 1), { gate: { mode: 'ALWAYS' } }),
    ask: await tool('ask', { client: { inputSchema: schema } }),
  }
  const when = {
    type: 'object',
    properties: { amount: { type: 'number', minimum: largeAmount } },
    required: ['amount'],
  }
  const agent = {
    name: 'model',
    model: 'builtin/rehearsal',
    toolIds: Object.values(tools),
    gate: { when, approvers: ['ADMIN'] },
  }
  const made = await mutate(url, adminKey, 'createAgent', agent, 'agent { id }')
  return { tools, agentId: made['agent'].id }
}
