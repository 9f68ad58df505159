/** `gatehouse approvals`: what waits for a verdict, live, and verdicts. */
import type { Approval } from '../client/index.ts'
import { decide, show } from './decide.ts'
import { asksHere, Lines } from './lines.ts'
import { dim, note, oneLine, out, outJson, table } from './screen.ts'
import { clientOf, commonHelp, type Command } from './usage.ts'

export const approvals: Command = {
  summary: 'watch the calls that wait for a person, and decide them',
  help: `gatehouse approvals [--ask | --list]

Shows each call that waits for a decision, with its arguments, and every change. At a terminal it
asks for a decision about each; approving a tool that is marked as destructive takes the name of
the tool as well. A decision counts for what was shown and for nothing else.

  --ask    ask also when the input is not a terminal: one answer a line
  --list   print what waits now, a sentence each, and end

${commonHelp}`,
  options: { ask: { type: 'boolean' }, list: { type: 'boolean' } },
  isWordless: true,
  async run(given, signal) {
    const client = clientOf(given)
    const isJson = given.options['json'] === true
    try {
      if (given.options['list']) return await list(client, isJson, signal)
      // Says at once that the server is away, or the key is wrong; later both are waited for.
      await client.query('{ viewer { id } }', {}, { signal })
      const watch = client.approvals.watch({ signal })
      if (isJson) for await (const approval of watch) outJson(approval)
      else if (asksHere(given.options['ask'])) await new Desk(client, signal).work(watch)
      else for await (const approval of watch) tell(approval)
      return 0
    } finally {
      client.close()
    }
  },
}

const pending = `query Pending($after: String) { approvals(filter: { statuses: [PENDING] }, first: 100, after: $after) {
  nodes { id toolName summary { text } arguments expiresAt digest requester { id name } }
  pageInfo { hasNextPage endCursor } } }`

type Row = Pick<Approval, 'id' | 'toolName' | 'arguments' | 'expiresAt'> & { summary: { text: string } }
interface Page {
  approvals: { nodes: Row[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
}

async function list(
  client: ReturnType<typeof clientOf>,
  isJson: boolean,
  signal: AbortSignal,
): Promise<number> {
  let after: string | null = null
  for (;;) {
    const { approvals: page }: Page = await client.query<Page>(pending, { after }, { signal })
    if (isJson) page.nodes.forEach(outJson)
    else out(table(page.nodes.map((one) => [one.id, one.expiresAt, one.summary.text])))
    if (!page.pageInfo.hasNextPage) return 0
    after = page.pageInfo.endCursor
  }
}

function tell(approval: Approval): void {
  if (approval.status === 'PENDING') show(approval)
  else note(`${oneLine(approval.toolName)} is ${approval.status}  ${dim(approval.id)}`)
}

/** One question at a time; one that is settled elsewhere while it is asked is not asked any more. */
class Desk {
  readonly #client: ReturnType<typeof clientOf>
  readonly #signal: AbortSignal
  readonly #lines: Lines
  readonly #waiting: Approval[] = []
  #asked: { id: string; stop: AbortController } | null = null
  #isOver = false
  #isAsking = false
  #fail: (error: unknown) => void = () => {}

  constructor(client: ReturnType<typeof clientOf>, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
    this.#lines = new Lines(signal)
  }

  /** Resolves when there is no more input. */
  async work(watch: AsyncIterableIterator<Approval>): Promise<void> {
    const ended = new Promise<'ended'>((resolve, reject) => {
      this.#fail = (error) => (error === null ? resolve('ended') : reject(error))
    })
    void this.#lines.ended.then(() => {
      this.#isOver = true
      // An answer that was given is still sent.
      if (!this.#isAsking) this.#fail(null)
    })
    try {
      for (;;) {
        const next = await Promise.race([watch.next(), ended])
        if (next === 'ended' || next.done) return
        this.#hear(next.value)
      }
    } finally {
      this.#lines.close()
    }
  }

  #hear(approval: Approval): void {
    const place = this.#waiting.findIndex(({ id }) => id === approval.id)
    if (place >= 0) this.#waiting.splice(place, 1)
    if (approval.status === 'PENDING') this.#waiting.push(approval)
    else tell(approval)
    if (this.#asked?.id === approval.id) this.#asked.stop.abort()
    if (this.#isAsking) return
    this.#isAsking = true
    this.#askAll().then(
      () => {
        this.#isAsking = false
        if (this.#isOver) this.#fail(null)
      },
      (error: unknown) => this.#fail(error),
    )
  }

  async #askAll(): Promise<void> {
    while (!this.#isOver && !this.#signal.aborted) {
      const approval = this.#waiting.shift()
      if (!approval) return
      show(approval)
      const stop = new AbortController()
      this.#asked = { id: approval.id, stop }
      const decision = await decide(this.#client, approval, this.#lines, stop.signal)
      this.#asked = null
      this.#isOver ||= decision === 'ended'
    }
  }
}
