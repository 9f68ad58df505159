#!/usr/bin/env node
/** The command line: `gatehouse <command>`. Thin over gatehouse-server/client. */
import { readFileSync } from 'node:fs'
import { GatehouseError, readJson, writeJson } from '../client/index.ts'
import { approvals } from './approvals.ts'
import { backup, restore } from './backups.ts'
import { withCodingAgents } from './coding-agents.ts'
import { completionOf } from './completion.ts'
import { connect } from './connect.ts'
import { keys } from './keys.ts'
import { nouns } from './nouns.ts'
import { open } from './open.ts'
import { pause, resume } from './pauses.ts'
import { run } from './run.ts'
import { note, oneLine, out, red } from './screen.ts'
import { demo, start } from './start.ts'
import { commonHelp, MissingKeyError, parse, UsageError, type Command } from './usage.ts'

const commands: Record<string, Command> = {
  start,
  open,
  demo,
  run,
  approvals,
  ...nouns,
  agents: withCodingAgents(nouns['agents']!),
  pause,
  resume,
  keys,
  connect,
  backup,
  restore,
}

commands['completion'] = completionOf(commands)

const help = `gatehouse COMMAND

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

gatehouse COMMAND --help says more about each; gatehouse --version says which release this is.

${commonHelp}`

/** From the package of the built program. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (readJson(text) as { version: string }).version
}

async function main(args: string[], signal: AbortSignal): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    out(help)
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-V') {
    out(`${version()}\n`)
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new UsageError(`There is no command ${writeJson(name)}. Try: gatehouse --help`)
  const given = parse(command, rest)
  if (given.options['help']) {
    out(command.help)
    return 0
  }
  return command.run(given, signal)
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2
  if (error instanceof MissingKeyError) return 4
  if (!(error instanceof GatehouseError)) return 1
  if (error.code === 'UNREACHABLE') return 3
  return error.code === 'UNAUTHENTICATED' || error.code === 'FORBIDDEN' ? 4 : 1
}

const interrupted = 130
const stop = new AbortController()
// The server has handlers of its own.
if (process.argv[2] !== 'start' && process.argv[2] !== 'demo')
  process.once('SIGINT', () => {
    stop.abort()
    // What waits for nothing but the signal ends now; a second interrupt ends the rest.
    process.once('SIGINT', () => process.exit(interrupted))
  })
// A reader that has enough, such as head, closes its end. What a full disk did not take is lost.
const unwritten = (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  note(red(`The output could not be written: ${error.code ?? error.message}`))
  process.exit(1)
}
process.stdout.on('error', unwritten)

try {
  const code = await main(process.argv.slice(2), stop.signal)
  process.exitCode = stop.signal.aborted ? interrupted : code
} catch (error) {
  if (stop.signal.aborted) process.exitCode = interrupted
  else {
    const message = error instanceof Error ? error.message : String(error)
    note(red(oneLine(message)))
    process.exitCode = exitCodeOf(error)
  }
}
// A connection that is kept open must not hold the process; what is written must leave it first.
process.stdout.write('', (error) => {
  if (error) unwritten(process.stdout.errored ?? error)
  process.stderr.write('', () => process.exit())
})
