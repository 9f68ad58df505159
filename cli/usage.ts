/** Options that all commands have, and what they mean for the client. */
import { readFileSync, statSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { createClient, type Client } from '../client/index.ts'
import { note, yellow } from './screen.ts'

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

export interface Command {
  /** One line for the list of commands. */
  summary: string
  help: string
  options: NonNullable<ParseArgsConfig['options']>
  /** It takes options alone: a word beside them is a mistake. */
  isWordless?: true
  run(given: ParsedArguments, signal: AbortSignal): Promise<number>
}

export interface ParsedArguments {
  words: string[]
  options: Record<string, string | boolean | undefined>
}

/** Options of every command. */
export const commonOptions = {
  help: { type: 'boolean', short: 'h' },
  url: { type: 'string' },
  'key-file': { type: 'string' },
  json: { type: 'boolean' },
} as const satisfies Command['options']

export const commonHelp = `Options of every command:
  --url URL        the server; default: GATEHOUSE_URL, or http://127.0.0.1:4000
  --key-file FILE  a file with the API key; default: the key in GATEHOUSE_KEY
  --json           results as JSON, one object a line
  -h, --help       this text

Exit codes: 0 done, 1 failed or refused, 2 wrong command line, 3 server unreachable,
4 key missing, invalid or not allowed, 130 interrupted.
`

/** Reads the words behind the name of a command. Throws UsageError. */
export function parse(
  { options, isWordless }: Pick<Command, 'options' | 'isWordless'>,
  args: string[],
): ParsedArguments {
  // Whoever else is on this machine sees the command lines of all processes.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  if (own.some((word) => word === '--key' || word.startsWith('--key=')))
    throw new UsageError(
      'A key is not given on the command line, where others can read it: use GATEHOUSE_KEY or --key-file.',
    )
  const all = { ...commonOptions, ...options }
  const given = parseOptions(args, all)
  const [word] = given.words
  if (isWordless && word !== undefined) {
    const meant = Object.hasOwn(all, word) ? `; did you mean --${word}?` : '.'
    throw new UsageError(`Unexpected argument "${word}"${meant}`)
  }
  return given
}

function parseOptions(args: string[], options: Command['options']): ParsedArguments {
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    return { words: positionals, options: values as ParsedArguments['options'] }
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** The text of an option; undefined when it was not given. */
export function textOption({ options }: ParsedArguments, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** The client that the options and the environment say. */
export function clientOf(given: ParsedArguments): Client {
  const address = addressOf(given)
  try {
    return createClient({
      ...address,
      retryForMs: 5_000,
      onRetry: (error, waitMs) => {
        if (waitMs > 1000)
          note(yellow(`${error instanceof Error ? error.message : 'The connection was lost.'} Trying again.`))
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** The server and the key that the options and the environment say. */
export function addressOf(given: ParsedArguments): { url: string; key: string } {
  const url = textOption(given, 'url') ?? (process.env['GATEHOUSE_URL'] || 'http://127.0.0.1:4000')
  const key = keyOf(given)
  warnOfPlainText(url)
  return { url, key }
}

/** The address of a server without the path of its GraphQL endpoint. */
export const baseOf = (url: string): string => url.replace(/\/(graphql\/?)?$/, '')

function keyOf(given: ParsedArguments): string {
  const file = textOption(given, 'key-file')
  const key = file === undefined ? process.env['GATEHOUSE_KEY'] : keyIn(file)
  if (!key?.trim())
    throw new MissingKeyError('Set GATEHOUSE_KEY, or name a file with the key: --key-file FILE.')
  return key.trim()
}

/** Exit code 4. */
export class MissingKeyError extends Error {}

function keyIn(file: string): string {
  try {
    const others = statSync(file).mode & 0o077
    if (others !== 0 && process.platform !== 'win32')
      note(yellow(`${file} can be read by others: chmod 600 ${file}`))
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`The key file cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function warnOfPlainText(url: string): void {
  if (!URL.canParse(url)) return
  const { protocol, hostname } = new URL(url)
  const isLocal = ['localhost', '[::1]'].includes(hostname) || hostname.startsWith('127.')
  if (protocol === 'http:' && !isLocal) note(yellow(`The key is sent to ${hostname} without encryption.`))
}
