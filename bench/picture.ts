/** `npm run picture`: runs the example of README against a real server and draws the received events as docs/picture.svg. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ask, mutate } from '../test/support/ask.ts'
import { startReplica, type Replica } from '../test/support/replica.ts'
import { freePort } from '../test/support/upstream-servers.ts'
import { watchGeneration, type WatchedEvent } from './demo/watch.ts'
import { draw, type Row } from './picture/render.ts'

const root = resolve(import.meta.dirname, '..')
const key = `gh_${randomBytes(32).toString('base64url')}`
/** The first line of the prompt. The rehearsal model follows it. */
const refund = 'call send_refund {"order_id":"A-17","amount":250}'
const rows: Row[] = []
let began = 0
const since = () => (performance.now() - began) / 1000
const act = (name: string, detail: string, mood: Row['mood'] = 'person') =>
  rows.push({ at: since(), seq: null, name, detail, mood })

/** The text beside the name of an event. */
function detailOf(event: WatchedEvent): string {
  const call = (event['toolCall'] ?? event['approval']) as { arguments?: object } | undefined
  if (call?.arguments) return `${String(event['name'])} ${JSON.stringify(call.arguments)}`
  const step = event['step'] as { text?: string } | undefined
  const words = [event['name'], event['verdict'], event['status'], event['stopReason']].filter(Boolean)
  return words.join(' ') || (step?.text ? `“${step.text}”` : '')
}

const moods: Record<string, Row['mood']> = {
  APPROVAL_REQUESTED: 'stop',
  APPROVAL_DECIDED: 'good',
  TOOL_CALL_SETTLED: 'good',
  GENERATION_COMPLETED: 'good',
}

/** Resolves at the next event of this name. */
function hearing() {
  const waiting = new Map<string, () => void>()
  return {
    tell: (type: string) => waiting.get(type)?.(),
    until: (type: string) => new Promise<void>((resume) => waiting.set(type, resume)),
  }
}

async function play(start: () => Promise<Replica>): Promise<number> {
  let server = await start()
  const { url } = server
  const agents = await ask(url, key, '{ agents(first: 1) { nodes { id } } }')
  const agentId = agents.data['agents'].nodes[0].id as string
  const prompt = `${refund}\nthen\nsay The refund is on its way.`
  began = performance.now()
  act('startGeneration', 'the demo agent, with the tool send_refund')
  const { generation } = await mutate(url, key, 'startGeneration', { agentId, prompt }, 'generation { id }')
  const heard = hearing()
  const stopped = heard.until('APPROVAL_REQUESTED')
  const watch = watchGeneration(
    { url, key, generationId: generation.id },
    (event) => {
      const mood = moods[event.type] ?? 'plain'
      rows.push({ at: since(), seq: event.seq, name: event.type, detail: detailOf(event), mood })
      heard.tell(event.type)
    },
    () => {},
  )
  await stopped
  const pid = server.pid
  await server.kill()
  act(`kill -9 ${pid}`, 'the server is gone; the question is a row in the database', 'fault')
  const before = watch.connections
  server = await start()
  while (watch.connections === before) await new Promise((resume) => setTimeout(resume, 10))
  act('npm start', `the subscription resumes after event ${watch.events.length}`)
  const approvals = await ask(url, key, '{ approvals(filter: { statuses: [PENDING] }) { nodes { id } } }')
  const approvalId = approvals.data['approvals'].nodes[0].id as string
  act('decideApproval', 'APPROVE “checked with the customer”')
  await mutate(
    url,
    key,
    'decideApproval',
    { approvalId, verdict: 'APPROVE', reason: 'checked with the customer' },
    'approval { status }',
  )
  await watch.ended
  const query =
    'query($id: ID!) { generation(id: $id) { status toolCalls { attempts { outcome } } events(first: 100) { nodes { cursor } } } }'
  const { data } = await ask(url, key, query, { id: generation.id })
  await server.stop()
  const log = data['generation'].events.nodes.map((node: { cursor: string }) => node.cursor)
  const same = JSON.stringify(log) === JSON.stringify(watch.events.map((event) => event.cursor))
  const attempts = data['generation'].toolCalls[0].attempts.length as number
  if (data['generation'].status !== 'COMPLETED' || attempts !== 1 || !same)
    throw new Error(`The story did not hold: ${JSON.stringify(data)}`)
  return watch.events.length
}

const folder = await mkdtemp(join(tmpdir(), 'gatehouse-picture-'))
const port = String(await freePort())
try {
  const events = await play(async () => {
    const server = startReplica(join(root, 'dist/main.js'), {
      GATEHOUSE_PORT: port,
      GATEHOUSE_DATA_DIR: join(folder, 'data'),
      GATEHOUSE_ADMIN_KEY: key,
      GATEHOUSE_LOG_LEVEL: 'warn',
    })
    await server.ready
    return server
  })
  const picture = draw(
    rows.toSorted((one, other) => one.at - other.at),
    {
      title: 'what a subscriber sees',
      prompt: refund,
      closing: `1 attempt, ${events} of ${events} events, none twice: the refund was made once.`,
    },
  )
  await writeFile(join(root, 'docs/picture.svg'), picture)
  process.stdout.write(`docs/picture.svg: ${rows.length} rows, ${picture.length} bytes\n`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
process.exit(0)
