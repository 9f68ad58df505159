/** `gatehouse run`: starts a generation and shows it as it happens. */
import {
  type Approval,
  type Client,
  type Generation,
  type GenerationEvent,
  writeJson,
} from '../client/index.ts'
import { decide, show } from './decide.ts'
import { asksHere, Lines } from './lines.ts'
import { dim, json, note, oneLine, out, outJson, red, visible, yellow } from './screen.ts'
import { clientOf, commonHelp, textOption, UsageError, type Command, type ParsedArguments } from './usage.ts'

export const run: Command = {
  summary: 'start a run of an agent and print what it says',
  help: `gatehouse run AGENT "TEXT" [--ask] [--thread ID]

AGENT is the id or the name of an agent. The text of the model goes to the standard output,
everything else to the standard error. A call that waits for a decision is asked about at a
terminal, if this key may decide it. No tool runs on this machine: calls of client tools wait for
the program that has them. An interrupt (Ctrl-C) ends this command, not the run.

  --ask        ask also when the input is not a terminal: one answer a line
  --thread ID  continue the conversation of an earlier generation

The exit code is 0 when the generation completed, 1 when it failed, was cancelled or expired.
With --json every event is one line, and the last line is the generation.

${commonHelp}`,
  options: { ask: { type: 'boolean' }, thread: { type: 'string' } },
  async run(given, signal) {
    const [agent, prompt, ...rest] = given.words
    if (!agent || !prompt || rest.length > 0)
      throw new UsageError('Give an agent and one text: gatehouse run AGENT "TEXT"')
    const client = clientOf(given)
    try {
      const threadId = textOption(given, 'thread') ?? null
      const agentId = await agentIdOf(client, agent, signal)
      const { id } = await client.startGeneration({ agentId, prompt, threadId }, { signal })
      note(dim(id))
      const generation = await follow(client, id, given, signal)
      return finish(generation, given.options['json'] === true)
    } finally {
      client.close()
    }
  },
}

interface AgentsPage {
  agents: {
    nodes: { id: string; name: string }[]
    pageInfo: { hasNextPage: boolean; endCursor: string | null }
  }
}
const agentsPage = `query Agents($after: String) { agents(first: 100, after: $after) {
  nodes { id name } pageInfo { hasNextPage endCursor } } }`

async function agentIdOf(client: Client, given: string, signal: AbortSignal): Promise<string> {
  if (/^agt_[a-z0-9]{10,}$/.test(given)) return given
  let after: string | null = null
  for (;;) {
    const { agents }: AgentsPage = await client.query<AgentsPage>(agentsPage, { after }, { signal })
    const found = agents.nodes.find(({ name }) => name === given)
    if (found) return found.id
    if (!agents.pageInfo.hasNextPage) throw new UsageError(`There is no agent named ${writeJson(given)}.`)
    after = agents.pageInfo.endCursor
  }
}

async function follow(
  client: Client,
  id: string,
  given: ParsedArguments,
  signal: AbortSignal,
): Promise<Generation> {
  const isJson = given.options['json'] === true
  const desk = asksHere(given.options['ask']) && !isJson ? new Lines(signal) : null
  const text = new StreamedText()
  let asking: Promise<unknown> = Promise.resolve()
  const asked = new Map<string, { digest: string; stop: AbortController }>()
  const ask = (approval: Approval) => {
    if (!desk) {
      show(approval)
      return note(yellow('It waits for a decision: gatehouse approvals'))
    }
    const stop = new AbortController()
    asked.set(approval.id, { digest: approval.digest, stop })
    asking = asking
      .then(() => {
        if (stop.signal.aborted) return null
        // An answer is about the question above it: the next one is shown when this one is done.
        show(approval)
        return decide(client, approval, desk, stop.signal)
      })
      .catch((error: unknown) => note(red(error instanceof Error ? oneLine(error.message) : String(error))))
  }
  // A vote of somebody else, or longer time, leaves the question what it was.
  const hear = (approval: Approval) => {
    const known = asked.get(approval.id)
    if (!known || (approval.status === 'PENDING' && approval.digest === known.digest)) return
    known.stop.abort()
    if (approval.status === 'PENDING') ask(approval)
  }
  try {
    return await client.runClientTools(
      id,
      {},
      {
        signal,
        onEvent(event) {
          if (isJson) return outJson(event)
          text.hear(event)
          if (event.type === 'APPROVAL_REQUESTED' && event.approval?.status === 'PENDING') ask(event.approval)
          else if ('approval' in event && event.approval) hear(event.approval)
          tell(event)
        },
      },
    )
  } catch (error) {
    if (signal.aborted) note(`The run goes on without this command: ${id}`)
    throw error
  } finally {
    asked.forEach(({ stop }) => stop.abort())
    desk?.close()
  }
}

/** What people are told beside the text. */
function tell(event: GenerationEvent): void {
  if (event.type === 'TOOL_CALL_STARTED')
    note(dim(`  calls ${oneLine(event.name)} ${oneLine(writeJson(event.toolCall?.arguments ?? {}))}`))
  else if (event.type === 'TOOL_CALL_SETTLED') note(dim(`  ${oneLine(event.name)}: ${event.status}`))
  else if (event.type === 'REQUIRES_ACTION')
    for (const call of event.toolCalls)
      if (call.status === 'AWAITING_CLIENT')
        note(
          yellow(
            `  ${oneLine(call.name)} waits for the program that runs it: ${oneLine(writeJson(call.arguments))}`,
          ),
        )
  if (event.type === 'APPROVAL_DECIDED') note(dim(`  ${oneLine(event.name)}: ${event.verdict}`))
}

/** Writes the text of each step once, whichever parts of it came live. */
class StreamedText {
  #attempt = 0
  #written = ''

  hear(event: GenerationEvent): void {
    if (event.type === 'TEXT_DELTA') this.#delta(event)
    else if (event.type === 'STEP_RESET') this.#reset()
    else if (event.type === 'MESSAGE_COMMITTED') this.#commit(event.step?.text ?? '')
  }

  #delta({ attempt, offset, text }: { attempt: number; offset: number; text: string }): void {
    if (attempt !== this.#attempt) {
      if (this.#written !== '') this.#reset()
      this.#attempt = attempt
    }
    // A piece is missing, as after a reconnect: the whole text comes with its commit.
    if (offset !== this.#written.length) return
    // Half of a letter waits for the other half.
    const whole = /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
    this.#written += whole
    out(visible(whole))
  }

  #reset(): void {
    if (this.#written !== '') note(yellow('\n(this attempt was lost; the text begins anew)'))
    this.#written = ''
    this.#attempt = 0
  }

  #commit(text: string): void {
    if (!text.startsWith(this.#written)) this.#reset()
    const rest = text.slice(this.#written.length)
    if (text !== '') out(`${visible(rest)}\n`)
    this.#written = ''
    this.#attempt = 0
  }
}

function finish(generation: Generation, isJson: boolean): number {
  if (isJson) outJson(generation)
  else {
    const { output, status, error } = generation
    if (output?.object !== null && output?.object !== undefined) out(`${json(output.object)}\n`)
    if (status !== 'COMPLETED') note(red(`${status}${error ? `: ${oneLine(error.message)}` : ''}`))
  }
  return generation.status === 'COMPLETED' ? 0 : 1
}
