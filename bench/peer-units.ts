/** The unit of the measurements on Gatehouse and on the frameworks of tools/bench-peers, each in a process of its own. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase } from './database.ts'
import { startPeer, type Peer } from './peer.ts'
import { openServer, type Usage } from './server.ts'
import { timed } from './statistics.ts'
import { unitsOn, type Units } from './unit.ts'

/** One that runs units: Gatehouse or a framework. */
export interface UnitPeer extends Pick<Units, 'one' | 'waits' | 'ends' | 'close'> {
  /** With the versions and where the waiting runs are kept. */
  name: string
  usage(): Promise<Usage>
}

type OpenPeer = (modelUrl: string) => Promise<UnitPeer>
/** Answers a POST with JSON; throws with the text of an answer that is no success. */
type Post = (path: string, body?: object) => Promise<Record<string, any>>

const packages = fileURLToPath(new URL('../tools/bench-peers/node_modules/', import.meta.url))

/** Whether the packages of tools/bench-peers are installed. */
export const hasFrameworks = existsSync(`${packages}.package-lock.json`)

const named = (name: string): string =>
  `${name} ${(JSON.parse(readFileSync(`${packages}${name}/package.json`, 'utf8')) as { version: string }).version}`

export const openPeers: OpenPeer[] = [
  openGatehouse,
  (modelUrl) =>
    openLibrary('langgraph', '@langchain/langgraph', '@langchain/langgraph-checkpoint-postgres', modelUrl),
  openLangGraphServer,
  (modelUrl) => openLibrary('mastra', '@mastra/core', '@mastra/pg', modelUrl),
]

async function openGatehouse(modelUrl: string): Promise<UnitPeer> {
  const server = await openServer('postgres', { upstream: new URL(modelUrl).host })
  const set = `mutation($i: SetProviderInput!) { setProvider(input: $i) { ... on Error { message } } }`
  const input = { name: 'bench', kind: 'COMPATIBLE', baseUrl: modelUrl, defaultModel: 'bench' }
  const { setProvider } = await server.gql(set, { i: input })
  if (setProvider.message) throw new Error(setProvider.message)
  const units = await unitsOn(server, 'bench/bench')
  return {
    name: 'Gatehouse on PostgreSQL',
    one: units.one,
    waits: units.waits,
    ends: units.ends,
    usage: server.usage,
    async close() {
      await units.close()
      await server.close()
    },
  }
}

/** A framework that a process of its own calls as a library, with the package that keeps its runs in PostgreSQL. */
async function openLibrary(
  program: string,
  library: string,
  keeper: string,
  modelUrl: string,
): Promise<UnitPeer> {
  const database = await createDatabase()
  const peer = await startPeer(
    'framework',
    JSON.stringify({ program, modelUrl, databaseUrl: database.url }),
  ).catch(async (error: unknown) => {
    await database.drop()
    throw error
  })
  const halves = {
    start: (post: Post) => post('/start'),
    async end(post: Post, paused: object) {
      const text: unknown = await post('/resume', paused)
      if (text !== 'done') throw new Error(`${library} did not complete.`)
    },
  }
  return unitPeer(`${named(library)}, ${named(keeper)}`, peer, halves, database.drop)
}

async function openLangGraphServer(modelUrl: string): Promise<UnitPeer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const peer = await startPeer('framework', JSON.stringify({ program: 'langgraph-server', modelUrl, folder }))
  const wait = (post: Post, thread: string, body: object) =>
    post(`/threads/${thread}/runs/wait`, { assistant_id: 'bench', ...body })
  const halves = {
    async start(post: Post) {
      const { thread_id } = await post('/threads', {})
      const state = await wait(post, thread_id, { input: { messages: [{ role: 'user', content: 'Go.' }] } })
      if (!state['__interrupt__']) throw new Error('The server of LangGraph did not pause.')
      return { thread: thread_id as string }
    },
    async end(post: Post, { thread }: { thread: string }) {
      const { messages } = await wait(post, thread, { command: { resume: 'ok' } })
      if (messages?.at(-1)?.content !== 'done') throw new Error('The server of LangGraph did not complete.')
    },
  }
  return unitPeer(`${named('@langchain/langgraph-api')} in memory`, peer, halves, () =>
    rm(folder, { recursive: true, force: true }),
  )
}

/** The two halves over HTTP, each with its time. */
function unitPeer<Paused>(
  name: string,
  peer: Peer,
  halves: { start(post: Post): Promise<Paused>; end(post: Post, paused: Paused): Promise<void> },
  drop: () => Promise<void> = async () => {},
): UnitPeer {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const post: Post = (path, body) => postTo(`${peer.url}${path}`, agent, JSON.stringify(body ?? {}))
  const [waits, ends]: number[][] = [[], []]
  return {
    name,
    waits: waits!,
    ends: ends!,
    async one() {
      let paused: Paused
      waits!.push(await timed(async () => (paused = await halves.start(post))))
      ends!.push(await timed(() => halves.end(post, paused)))
    },
    usage: peer.usage,
    async close() {
      agent.destroy()
      await peer.close()
      await drop()
    },
  }
}

function postTo(url: string, agent: http.Agent, body: string): Promise<Record<string, any>> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text)),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}
