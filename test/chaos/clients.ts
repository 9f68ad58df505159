/**
 * The simulated people of the chaos tests: they start generations, submit outputs, decide approvals, and record what
 * was acknowledged.
 */
import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'
import { askMutation, mutate } from '../support/ask.ts'
import type { Outside } from './outside.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

export interface FeedEvent {
  cursor: string
  type: string
  generationId: string | null
}

export interface Clients {
  /** Ids that mutations returned, by the number of the generation. */
  started: Map<number, string>
  /** Tool calls whose output was acknowledged. */
  answered: Set<string>
  /** Approvals whose verdict was acknowledged, with the verdict. */
  decided: Map<string, string>
  /** Every event of the project's feed, over all connections. */
  feed: FeedEvent[]
  connections: number
  /** When each mutation was acknowledged, by `performance.now()`. */
  acknowledgedAt: number[]
  /** How often a mutation was not acknowledged, by the code of the error. */
  refusals: Map<string, number>
  /** Resolves when every generation of the clients has ended. */
  ended: Promise<void>
  close(): Promise<void>
}

export interface ClientsOptions {
  key: string
  agentId: string
  generations: number
  /** Milliseconds between two starts. */
  everyMs: number
  /** A server that is probably running. */
  anyUrl(): string
  /** What people say to the question of a generation; null: nothing. Default: a third each. */
  verdictOf?(n: number): 'APPROVE' | 'REJECT' | null
  /** The longest pause before a mutation that was not acknowledged is sent again, in milliseconds. Default: 100. */
  retryMs?: number
}

const defaultRetryMs = 100
const defaultVerdictOf = (n: number) => (['APPROVE', 'REJECT', null] as const)[n % 3]!

/** Saves the tools and the agent of the test, with a gate timeout of so many seconds. Returns the agent's id. */
export async function prepare(url: string, key: string, outside: Outside, gateSeconds = 15): Promise<string> {
  const inputSchema = { type: 'object', properties: { about: { type: 'string' } }, required: ['about'] }
  const tools = [
    { name: 'look', config: { http: { url: `${outside.url}/look`, method: 'GET', inputSchema } } },
    { name: 'charge', config: { http: { url: `${outside.url}/charge`, method: 'POST', inputSchema } } },
    {
      name: 'pay',
      gate: { autoApprove: false, timeoutSeconds: gateSeconds },
      config: { http: { url: `${outside.url}/pay`, method: 'POST', inputSchema } },
    },
    { name: 'ask', config: { client: { inputSchema } } },
  ]
  const toolIds: string[] = []
  for (const tool of tools)
    toolIds.push((await mutate(url, key, 'createTool', tool, 'tool { id }'))['tool'].id)
  const agent = { name: 'chaos', model: 'builtin/rehearsal', toolIds }
  return (await mutate(url, key, 'createAgent', agent, 'agent { id }'))['agent'].id
}

/** Two parallel server calls and a client call, a call that must not be repeated beside a gated one, a final text. */
function promptOf(n: number): string {
  return [
    'slow 10ms',
    `call look {"about":"${n}/1"}`,
    `call charge {"about":"${n}/1"}`,
    `call ask {"about":"${n}/1"}`,
    'then',
    `call charge {"about":"${n}/2"}`,
    `call pay {"about":"${n}/2 paid"}`,
    'then',
    `say this is the end of number ${n} and these are some more words`,
  ].join('\n')
}

/** Starts the clients: one feed that resumes by cursor, and every request repeated until it is acknowledged. */
export function startClients(options: ClientsOptions): Clients {
  const abort = new AbortController()
  const state = {
    started: new Map<number, string>(),
    answered: new Set<string>(),
    decided: new Map<string, string>(),
    feed: [] as FeedEvent[],
  }
  const over = new Set<string>()
  let finish = () => {}
  const clients: Clients = {
    ...state,
    connections: 0,
    acknowledgedAt: [],
    refusals: new Map(),
    ended: new Promise((resolve) => (finish = resolve)),
    async close() {
      abort.abort()
      // It may be connected to a server that was killed.
      await Promise.resolve(client.dispose()).catch(() => {})
    },
  }
  const client = openFeed(options, clients, abort.signal, (event) => {
    if (event.type === 'REQUIRES_ACTION') void answer(options, clients, event, abort.signal)
    if (event.type === 'APPROVAL_REQUESTED') void decide(options, clients, event, abort.signal)
    if (/^GENERATION_(COMPLETED|FAILED|CANCELLED|EXPIRED)$/.test(event.type)) over.add(event.generationId!)
    if (over.size === options.generations) finish()
  })
  void begin(options, clients, abort.signal)
  return clients
}

async function begin(options: ClientsOptions, clients: Clients, signal: AbortSignal): Promise<void> {
  for (let n = 1; n <= options.generations && !signal.aborted; n++) {
    const input = { agentId: options.agentId, prompt: promptOf(n), idempotencyKey: `chaos-${n}` }
    const one = persist(options, clients, 'startGeneration', input, 'generation { id }', signal)
    void one.then((payload) => payload && clients.started.set(n, payload['generation'].id))
    await new Promise((resolve) => setTimeout(resolve, options.everyMs))
  }
}

/** The same output is sent twice at the same time: one is accepted, the other changes nothing. */
async function answer(
  options: ClientsOptions,
  clients: Clients,
  event: FeedEvent,
  signal: AbortSignal,
): Promise<void> {
  const calls = (event as FeedEvent & { toolCalls: { id: string; arguments: { about: string } }[] }).toolCalls
  for (const call of calls) {
    const output = `the answer to ${call.arguments.about}`
    const input = { generationId: event.generationId, outputs: [{ toolCallId: call.id, output }] }
    const twice = await Promise.all(
      [1, 2].map(() => persist(options, clients, 'submitToolOutputs', input, 'outcomes { status }', signal)),
    )
    const held = twice.every((one) => ['ACCEPTED', 'UNCHANGED'].includes(one?.['outcomes'][0].status))
    if (held) clients.answered.add(call.id)
  }
}

/** An approval comes from two people at once, a rejection from one; a question without a verdict expires. */
async function decide(
  options: ClientsOptions,
  clients: Clients,
  event: FeedEvent,
  signal: AbortSignal,
): Promise<void> {
  const { approval } = event as FeedEvent & { approval: { id: string; arguments: { about: string } } }
  const n = Number.parseInt(approval.arguments.about, 10)
  const verdict = (options.verdictOf ?? defaultVerdictOf)(n)
  if (verdict === null) return
  await new Promise((resolve) => setTimeout(resolve, random() * 2000))
  const input = { approvalId: approval.id, verdict }
  const clicks = verdict === 'APPROVE' ? [1, 2] : [1]
  const told = await Promise.all(
    clicks.map(() =>
      persist(options, clients, 'decideApproval', input, 'approval { status }', signal, gateErrors),
    ),
  )
  if (told.some((one) => one?.['__typename'] === 'ApprovalPayload')) clients.decided.set(approval.id, verdict)
}

/** Errors after which a repeat of the verdict is pointless. */
const gateErrors = ['ApprovalAlreadyDecidedError', 'ApprovalExpiredError', 'ConflictError']

/** Repeats the mutation on any server until one acknowledges it; null when the test is over before. */
async function persist(
  options: ClientsOptions,
  clients: Clients,
  name: string,
  input: object,
  fields: string,
  signal: AbortSignal,
  final: string[] = [],
): Promise<Record<string, any> | null> {
  while (!signal.aborted) {
    const result = await askMutation(options.anyUrl(), options.key, name, input, fields).catch(() => null)
    const payload = result?.data?.[name]
    // Some conflicts only say that too much has changed meanwhile.
    const isFinal = final.includes(payload?.__typename) && !/send it again/.test(String(payload?.message))
    if (payload?.__typename.endsWith('Payload') || isFinal) {
      clients.acknowledgedAt.push(performance.now())
      return payload
    }
    const code = String(payload?.code ?? result?.errors?.[0]?.extensions?.['code'] ?? 'no response')
    clients.refusals.set(code, (clients.refusals.get(code) ?? 0) + 1)
    const { retryMs = defaultRetryMs } = options
    await new Promise((resolve) => setTimeout(resolve, random() * retryMs))
  }
  return null
}

/** The event types that the clients follow. */
export const feedTypes = [
  'GENERATION_QUEUED',
  'REQUIRES_ACTION',
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
  'TOOL_CALL_SETTLED',
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
  'GENERATION_CANCELLED',
  'GENERATION_EXPIRED',
]

const feedDocument = `subscription($after: String) { projectEvents(after: $after, types: [${feedTypes.join(', ')}]) {
  cursor type
  ... on GenerationEvent { generationId }
  ... on ApprovalRequestedEvent { approval { id arguments } }
  ... on RequiresActionEvent { toolCalls { id arguments } } } }`

function openFeed(
  options: ClientsOptions,
  clients: Clients,
  signal: AbortSignal,
  hear: (event: FeedEvent) => void,
): Client {
  /** Later events of this connection follow one that could not be read. */
  let spoiled = false
  const client = createClient({
    url: () => `${options.anyUrl().replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${options.key}` },
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, random() * defaultRetryMs)),
    on: {
      connected: () => {
        clients.connections++
        spoiled = false
      },
    },
  })
  const variables = { after: '0' }
  // A subscription can be refused while the database is unreachable: it is repeated after the last cursor.
  const again = () => void (signal.aborted || setTimeout(subscribe, defaultRetryMs))
  const subscribe = () =>
    client.subscribe<{ projectEvents: FeedEvent }>(
      { query: feedDocument, variables },
      {
        next: ({ data, errors }) => {
          // The database was unreachable while the event was read: it is sent again after the cursor before it.
          if (spoiled) return
          if (!data || errors) {
            spoiled = true
            return client.terminate()
          }
          variables.after = data.projectEvents.cursor
          clients.feed.push(data.projectEvents)
          hear(data.projectEvents)
        },
        error: again,
        complete: again,
      },
    )
  subscribe()
  return client
}
