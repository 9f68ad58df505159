/** `gatehouse connect`: offers a stdio MCP server of this machine to the tools of a project. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { connectorApi, type ConnectorApi, type Message } from './connector-api.ts'
import { dim, note, oneLine } from './screen.ts'
import { StdioServer } from './stdio-server.ts'
import { addressOf, commonHelp, UsageError, type Command } from './usage.ts'

/** How long calls that were begun may take when the command is to end, in milliseconds. */
const drainMs = 5000
/** The pause between two times that the server of Gatehouse is told of changed lists, in milliseconds. */
const changedEveryMs = 1000

export const connect: Command = {
  summary: 'offer a stdio MCP server of this machine to the tools of a project',
  help: `gatehouse connect NAME -- COMMAND [ARGS]

Starts COMMAND, an MCP server over its standard input and output, and offers it under NAME: an mcp
tool with the url connector:NAME runs its tools. The key needs the action connectors:Serve. The
command inherits the environment without GATEHOUSE_KEY. It connects again by itself; it ends when
COMMAND ends, when another process serves NAME, and on an interrupt.

${commonHelp}`,
  options: {},
  async run(given, signal) {
    const [name, command, ...args] = given.words
    if (!name || !command)
      throw new UsageError('Give a name and a command: gatehouse connect NAME -- COMMAND')
    const stop = new AbortController()
    const end = () => stop.abort()
    signal.addEventListener('abort', end)
    process.once('SIGTERM', end)
    const instance = randomBytes(16).toString('hex')
    const api = connectorApi(addressOf(given), name, instance, (error) =>
      note(dim(`${oneLine(error)} Trying again.`)),
    )
    const server = new StdioServer(command, args)
    try {
      return await serve(api, server, name, stop.signal)
    } finally {
      await server.stop()
    }
  },
}

/** Serves until the server ends, or until it is told to stop. */
async function serve(
  api: ConnectorApi,
  server: StdioServer,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  const polling = new AbortController()
  const underWay = new Set<Promise<void>>()
  server.onChanged = oneAtATime(() => api.changed(polling.signal))
  const run = (message: Message) => {
    const work = answer(api, server, message, polling.signal).finally(() => underWay.delete(work))
    underWay.add(work)
  }
  const ending = server.ended.then((why) => {
    throw new Error(why)
  })
  ending.catch(() => {})
  try {
    const told = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
    await Promise.race([ending, told, server.begin().then(() => poll(api, run, name, signal))])
    await Promise.race([ending, Promise.allSettled(underWay), pause(drainMs, undefined, { ref: false })])
    return 0
  } finally {
    polling.abort()
    await api.leave().catch(() => {})
  }
}

/** However often it is called: one runs, and after a pause one more. */
function oneAtATime(work: () => Promise<void>): () => void {
  let [isRunning, isWanted] = [false, false]
  const run = async () => {
    isRunning = true
    while (isWanted) {
      isWanted = false
      await work().catch(() => {})
      await pause(changedEveryMs, undefined, { ref: false })
    }
    isRunning = false
  }
  return () => {
    isWanted = true
    if (!isRunning) void run()
  }
}

async function poll(
  api: ConnectorApi,
  run: (message: Message) => void,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  /** A message is run once, whatever a server that was restored says. */
  const seen = new Set<string>()
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const messages = await api.next(signal)
    if (isFirst) note(`Connected as ${name}. A tool uses it by the url connector:${name}`)
    for (const message of messages) {
      if (seen.has(message.id)) continue
      seen.add(message.id)
      if (seen.size > 1000) seen.delete(seen.values().next().value!)
      run(message)
    }
  }
}

/** Passes a message to the server and its answer back. A request that the server does not answer has none. */
async function answer(
  api: ConnectorApi,
  server: StdioServer,
  { id, message }: Message,
  signal: AbortSignal,
): Promise<void> {
  try {
    const answered = await server.ask(id, message)
    if (answered !== undefined) await api.answer(id, answered, signal)
  } catch (error) {
    if (!signal.aborted) note(dim(`An answer was not sent: ${oneLine((error as Error).message)}`))
  }
}
