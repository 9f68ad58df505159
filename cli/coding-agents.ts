/** `gatehouse agents install|doctor|sessions|resume`: coding agents that ask here before they act. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Client } from '../client/index.ts'
import { doctor } from './agent-doctor.ts'
import { agentIn, agentNames, hookPrograms, textIn } from './agent-hooks.ts'
import { resume, sessions } from './agent-sessions.ts'
import { note, out } from './screen.ts'
import {
  addressOf,
  baseOf,
  clientOf,
  textOption,
  UsageError,
  type Command,
  type ParsedArguments,
} from './usage.ts'

const names = agentNames.join('|')

/** The command `agents` with what is here beside what it has. */
export function withCodingAgents({ run, ...listing }: Command): Command {
  return {
    summary: 'list agents, or let coding agents ask here before they act',
    help: `${listing.help.replace(/\n\n[^]*/, '')}
gatehouse agents install ${names} [--wait SECONDS] [--headless]
gatehouse agents doctor [${names}]
gatehouse agents sessions
gatehouse agents resume [--once]

install adds the tool of a coding agent, writes its hooks, and prints the line that sets its key on this
machine: eval "$(gatehouse agents install claude)". Its calls then wait for a person unless they only read.

  --wait SECONDS  how long a call is held for its verdict; default: 3600, with --headless 30
  --headless      a run of claude -p ends when nobody has decided; resume goes on after the verdict
  --once          resume what is decided now, and end

doctor asks about a call as each installed agent would, which must be blocked. resume runs
claude -p --resume for each deferred session of this machine, after its verdict, until it is interrupted.

${listing.help.replace(/^[^]*?\n\n/, '')}`,
    options: {
      ...listing.options,
      wait: { type: 'string' },
      headless: { type: 'boolean' },
      once: { type: 'boolean' },
    },
    async run(given, signal) {
      const [what, ...words] = given.words
      const command = { install, doctor, sessions, resume }[what as 'install']
      if (!command) return run(given, signal)
      const client = clientOf(given)
      try {
        return await command(client, given, words, signal)
      } finally {
        client.close()
      }
    },
  }
}

const refusal = '... on Error { __typename code message }'

function secondsIn(given: ParsedArguments): number {
  const text = textOption(given, 'wait') ?? (given.options['headless'] ? '30' : '3600')
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds <= 86_000)) throw new UsageError('--wait is a number of seconds, 0 to 86000.')
  return seconds
}

/** Its files and its key; the key is printed once, as a line for the shell. */
async function install(
  client: Client,
  given: ParsedArguments,
  [word, ...rest]: string[],
  signal: AbortSignal,
): Promise<number> {
  if (rest.length > 0) throw new UsageError('Install one coding agent at a time.')
  const name = agentIn(word)
  const program = hookPrograms[name]
  if (given.options['headless'] && name !== 'claude')
    throw new UsageError('--headless is for claude: no other agent can be resumed at a call.')
  const base = baseOf(addressOf(given).url)
  const setup = { base, waitSeconds: secondsIn(given), isHeadless: given.options['headless'] === true }
  const file = program.file()
  // Before anything is created: a file that cannot be read stays as it is.
  const text = program.textOf(textIn(file), setup)
  const { addCodingAgent } = await client.mutate<{ addCodingAgent: { tool: { id: string } } }>(
    `mutation AddCodingAgent($input: AddCodingAgentInput!) { addCodingAgent(input: $input) {
      ... on CodingAgentPayload { tool { id } } ${refusal} } }`,
    { input: { agent: name.toUpperCase() } },
    { signal, isIdempotent: true },
  )
  const policy = {
    statement: [{ effect: 'Allow', action: ['tools:Call'], resource: [`tool/${addCodingAgent.tool.id}`] }],
  }
  const { createApiKey } = await client.mutate<{ createApiKey: { secret: string } }>(
    `mutation CreateKey($input: CreateApiKeyInput!) { createApiKey(input: $input) {
      ... on ApiKeyPayload { secret } ${refusal} } }`,
    { input: { name: `${program.title} on ${hostname()}`.slice(0, 200), policy, votes: false } },
    { signal },
  )
  write(file, text)
  out(`export ${program.keyName}=${createApiKey.secret}\n`)
  note(`${program.title} asks ${base} before its calls: ${file}`)
  note(`Set the key in its environment, in the line above. It is shown once.`)
  if (program.after) note(program.after)
  return 0
}

/** Whole, or not at all. */
function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const beside = `${file}.${process.pid}.new`
  writeFileSync(beside, text, { mode: 0o600 })
  renameSync(beside, file)
}
