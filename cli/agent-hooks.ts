/** What each coding agent is told in its own files, so that it asks Gatehouse before a call and reports after it. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readJson, writeJson } from '../client/index.ts'
import { UsageError } from './usage.ts'

export const agentNames = ['claude', 'codex', 'copilot', 'gemini', 'opencode'] as const
export type AgentName = (typeof agentNames)[number]

/** UsageError for any other word. */
export function agentIn(word: string | undefined): AgentName {
  const name = agentNames.find((one) => one === word)
  if (!name) throw new UsageError(`Say which coding agent: ${agentNames.join(', ')}.`)
  return name
}

export interface HookSetup {
  /** The address of the server. */
  base: string
  /** How long a call is held for its verdict, in seconds. */
  waitSeconds: number
  /** Ends a run of Claude Code that is not decided in time, so that it can be resumed. */
  isHeadless: boolean
}

export interface HookProgram {
  title: string
  /** The program, as it is started. */
  binary: string
  /** The variable with the key of this agent on this machine. */
  keyName: string
  file(): string
  /** The text of its file; what others have written there stays. */
  textOf(existing: string | null, setup: HookSetup): string
  /** What is left to do by hand. */
  after?: string
}

/** The longest that a program waits for its hook, in seconds. */
const programSeconds = 86_400
const reportSeconds = 60

type JsonObject = Record<string, unknown>
interface HookGroup {
  hooks?: JsonObject[]
}

const home = (variable: string, ...otherwise: string[]) =>
  process.env[variable] || join(homedir(), ...otherwise)

const urlOf = ({ base, waitSeconds, isHeadless }: HookSetup, name: AgentName) =>
  `${base}/v1/agent/${name}/hook?wait=${waitSeconds}${isHeadless ? '&undecided=defer' : ''}`

const keyNameOf = (name: AgentName) => `GATEHOUSE_${name.toUpperCase()}_KEY`

/** A hook over HTTP, for programs that have them. */
function httpHook(name: AgentName, setup: HookSetup, more: JsonObject): JsonObject {
  const keyName = keyNameOf(name)
  return {
    type: 'http',
    url: urlOf(setup, name),
    headers: { Authorization: `Bearer $${keyName}` },
    allowedEnvVars: [keyName],
    ...more,
  }
}

/** How long one request of a command waits, in seconds: less than proxies do. */
const pollSeconds = 25

/**
 * A hook as a command: everything but a decision blocks the call. It asks again while nobody has decided, also after a restart
 * of the server, as long as its agent lives. The key is in no command line, which every user of the machine can read.
 */
function commandOf(name: AgentName, setup: HookSetup, decision: string, more = ''): string {
  const url = `${setup.base}/v1/agent/${name}/hook?wait=${Math.min(pollSeconds, setup.waitSeconds)}&undecided=retry`
  return `body=$(cat); end=$(($(date +%s)+${setup.waitSeconds})); asked=
while kill -0 $PPID 2>/dev/null; do
out=$(printf %s "$body" | curl -sS --max-time 60 -w '%{http_code}' ${headers} --data-binary @- '${shellSafe(url)}' 3<<KEY
Authorization: Bearer $${keyNameOf(name)}
KEY
)
case $out in
${more}*'"${decision}"'*200) printf %s "\${out%200}"; exit 0;;
*425) [ $(date +%s) -lt $end ] || { printf %s "\${out%425}"; exit 0; }; asked=1;;
*000|*503) [ -n "$asked" ] && [ $(date +%s) -lt $end ] || break; sleep 1;;
*) break;;
esac
done
echo 'Gatehouse gave no decision. The call was blocked.' >&2; exit 2`
}

/** Codex takes a plain allow for a fault of the hook, which it tells its user, and goes on: saying nothing is how to agree. */
const agreed = `*'"permissionDecision":"allow"}}200') printf '{}'; exit 0;;\n`

const headers = "-H @/dev/fd/3 -H 'content-type: application/json'"

function shellSafe(url: string): string {
  if (/['\\\n]/.test(url))
    throw new UsageError(`The address of the server has a character that no shell takes: ${url}`)
  return url
}

/** The same after the call: nothing depends on it. */
function reportOf(name: AgentName, setup: HookSetup): string {
  return `curl -sSf --max-time ${reportSeconds} -o /dev/null ${headers} --data-binary @- '${shellSafe(urlOf(setup, name))}' 3<<KEY
Authorization: Bearer $${keyNameOf(name)}
KEY
printf '{}'`
}

/** Settings with our hooks under these events, and everything else as it was. */
function withHooks(existing: string | null, ours: Record<string, JsonObject>): string {
  const settings = parsed(existing)
  const hooks = { ...(settings['hooks'] as Record<string, HookGroup[]> | undefined) }
  for (const [event, group] of Object.entries(ours)) {
    const others = (hooks[event] ?? []).filter((one) => !writeJson(one)?.includes('/v1/agent/'))
    hooks[event] = [...others, group]
  }
  return `${writeJson({ ...settings, hooks }, 2)}\n`
}

function parsed(existing: string | null): JsonObject {
  if (existing === null || existing.trim() === '') return {}
  let value: unknown
  try {
    value = readJson(existing)
  } catch {
    value = null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError('The file holds no JSON object. Nothing was written.')
  return value as JsonObject
}

const groupOf = (matcher: string, hook: JsonObject): JsonObject => ({ matcher, hooks: [hook] })

export const hookPrograms: Readonly<Record<AgentName, HookProgram>> = {
  claude: {
    title: 'Claude Code',
    binary: 'claude',
    keyName: keyNameOf('claude'),
    file: () => join(home('CLAUDE_CONFIG_DIR', '.claude'), 'settings.json'),
    textOf(existing, setup) {
      // Without onFailure, a server that is away lets every call run.
      const ask = httpHook('claude', setup, { timeout: programSeconds, onFailure: 'block' })
      const report = httpHook('claude', setup, { timeout: reportSeconds })
      return withHooks(existing, {
        PreToolUse: groupOf('*', ask),
        PostToolUse: groupOf('*', report),
        PostToolUseFailure: groupOf('*', report),
      })
    },
  },
  codex: {
    title: 'Codex',
    binary: 'codex',
    keyName: keyNameOf('codex'),
    file: () => join(home('CODEX_HOME', '.codex'), 'hooks.json'),
    textOf: (existing, setup) =>
      withHooks(existing, {
        PreToolUse: groupOf('.*', {
          type: 'command',
          command: commandOf('codex', setup, 'permissionDecision', agreed),
          timeout: programSeconds,
        }),
        PostToolUse: groupOf('.*', {
          type: 'command',
          command: reportOf('codex', setup),
          timeout: reportSeconds,
        }),
      }),
    after: 'Codex runs no hook that you have not trusted: start codex, say /hooks, and trust both.',
  },
  copilot: {
    title: 'Copilot CLI',
    binary: 'copilot',
    keyName: keyNameOf('copilot'),
    file: () => join(home('COPILOT_HOME', '.copilot'), 'hooks', 'gatehouse.json'),
    textOf(_existing, setup) {
      const preToolUse = [httpHook('copilot', setup, { timeoutSec: programSeconds })]
      const postToolUse = [httpHook('copilot', setup, { timeoutSec: reportSeconds })]
      return `${writeJson({ version: 1, hooks: { preToolUse, postToolUse } }, 2)}\n`
    },
  },
  gemini: {
    title: 'Gemini CLI',
    binary: 'gemini',
    keyName: keyNameOf('gemini'),
    file: () => join(homedir(), '.gemini', 'settings.json'),
    textOf: (existing, setup) =>
      withHooks(existing, {
        BeforeTool: groupOf('.*', {
          name: 'gatehouse',
          type: 'command',
          command: commandOf('gemini', setup, 'decision'),
          timeout: programSeconds * 1000,
        }),
        AfterTool: groupOf('.*', {
          name: 'gatehouse',
          type: 'command',
          command: reportOf('gemini', setup),
          timeout: reportSeconds * 1000,
        }),
      }),
  },
  opencode: {
    title: 'OpenCode',
    binary: 'opencode',
    keyName: keyNameOf('opencode'),
    file: () => join(home('XDG_CONFIG_HOME', '.config'), 'opencode', 'plugin', 'gatehouse.js'),
    textOf: (_existing, setup) => pluginOf(urlOf(setup, 'opencode')),
  },
}

/** A plugin for OpenCode: an error before a call blocks it. */
const pluginOf = (url: string) => `// Written by gatehouse agents install opencode.
const url = ${writeJson(url)}
async function send(body) {
  const headers = { authorization: \`Bearer \${process.env.${keyNameOf('opencode')}}\`, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), timeout: false })
  return { isDecided: response.ok, answer: await response.json() }
}
export const Gatehouse = async ({ client, directory: cwd }) => ({
  'tool.execute.before': async ({ tool, sessionID, callID }, output) => {
    const { isDecided, answer } = await send({ event: 'before', tool, sessionID, callID, cwd, args: output.args ?? {} })
    if (answer.stop) await client.session.abort({ path: { id: sessionID } }).catch(() => {})
    if (!isDecided || answer.decision !== 'allow') throw new Error(answer.reason ?? 'Gatehouse gave no decision.')
    if (!answer.args) return
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, answer.args)
  },
  'tool.execute.after': async ({ tool, sessionID, callID, args }, { output }) => {
    await send({ event: 'after', tool, sessionID, callID, cwd, args: args ?? {}, output }).catch(() => {})
  },
})
`

/** The text of the file; null when there is none. */
export const textIn = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null)
