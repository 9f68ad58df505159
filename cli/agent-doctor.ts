/** `gatehouse agents doctor`: whether the coding agents of this machine are stopped. */
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type Client, readJson, writeJson } from '../client/index.ts'
import { agentIn, agentNames, hookPrograms, textIn, type AgentName } from './agent-hooks.ts'
import { note, oneLine, red } from './screen.ts'
import type { ParsedArguments } from './usage.ts'

/** A line for each installed agent; exit code 1 when one of them is not stopped. */
export async function doctor(
  client: Client,
  _given: ParsedArguments,
  [word]: string[],
  signal: AbortSignal,
): Promise<number> {
  const wanted = word === undefined ? agentNames : [agentIn(word)]
  let [isFound, isWell] = [false, true]
  for (const name of wanted) {
    const faults = await faultsOf(client, name, signal)
    if (faults === null) continue
    isFound = true
    isWell &&= faults.length === 0
    note(faults.length === 0 ? `${hookPrograms[name].title}: a call was blocked, as it must be.` : '')
    for (const fault of faults) note(red(`${hookPrograms[name].title}: ${oneLine(fault)}`))
  }
  if (!isFound) note('No coding agent is installed here: gatehouse agents install NAME.')
  return isFound && isWell ? 0 : 1
}

/** The hook of this agent as its file has it; null when it is not installed. */
async function faultsOf(client: Client, name: AgentName, signal: AbortSignal): Promise<string[] | null> {
  const program = hookPrograms[name]
  const text = textIn(program.file())
  const url = /https?:\/\/[^'"\s\\]+\/v1\/agent\/\w+\/hook[^'"\s\\]*/.exec(text ?? '')?.[0]
  if (!text || !url) return null
  const faults: string[] = []
  const { protocol, hostname: host } = new URL(url)
  if (protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(host))
    faults.push(`it asks ${host} without encryption, and the key goes with it.`)
  if (name === 'copilot' && protocol === 'http:')
    faults.push(
      'it skips a hook over plain http: use https, or set COPILOT_HOOK_ALLOW_LOCALHOST=1 for this machine.',
    )
  if (name === 'codex' && (await isUntrusted(program.binary, signal)))
    faults.push(`it skips hooks that are not trusted: ${program.after}`)
  if (name === 'claude') {
    if (!text.includes('"onFailure"'))
      faults.push('its hook has no onFailure: a server that is away lets calls run.')
    const version = versionOf(program.binary)
    if (version && isBefore(version, [2, 1, 295]))
      faults.push(`version ${version.join('.')} ignores onFailure: use 2.1.295 or later.`)
  }
  const key = process.env[program.keyName]
  if (!key) faults.push(`${program.keyName} is not set here: without it every call is blocked.`)
  else faults.push(...(await canary(client, name, url, key, signal)))
  return faults
}

const marker = 'gatehouse-doctor'

/** Asks about a call as the agent would: the answer must not allow it. Its question is rejected. */
async function canary(
  client: Client,
  name: AgentName,
  url: string,
  key: string,
  signal: AbortSignal,
): Promise<string[]> {
  const input = { command: `rm ${marker}` }
  const asked = {
    claude: { session_id: marker, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: input },
    codex: { session_id: marker, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: input },
    copilot: { sessionId: marker, toolName: 'bash', toolArgs: input },
    gemini: {
      session_id: marker,
      hook_event_name: 'BeforeTool',
      tool_name: 'run_shell_command',
      tool_input: input,
    },
    opencode: { event: 'before', sessionID: marker, callID: String(process.pid), tool: 'bash', args: input },
  }[name]
  const now = new URL(url)
  now.searchParams.set('wait', '0')
  const reply = await fetch(now, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: writeJson(asked),
    signal,
  }).catch((error: Error) => error)
  if (reply instanceof Error) return [`no answer from ${now.origin}: every call is blocked.`]
  const answer = await reply.text()
  if (!reply.ok)
    return [`it is refused with ${reply.status}, so that every call is blocked: ${answer.slice(0, 300)}`]
  if (!/"(?:permissionDecision|decision)": ?"deny"/.test(answer))
    return [`a deletion was not blocked: look at the gate of the tool ${name}.`]
  await rejectCanaries(client, signal)
  return []
}

async function rejectCanaries(client: Client, signal: AbortSignal): Promise<void> {
  const { approvals } = await client.query<{ approvals: { nodes: { id: string }[] } }>(
    `query Canaries { approvals(first: 20, filter: { search: "${marker}", statuses: [PENDING] }) { nodes { id } } }`,
    {},
    { signal },
  )
  for (const { id } of approvals.nodes)
    await client
      .mutate(
        `mutation Reject($input: DecideApprovalInput!) { decideApproval(input: $input) {
          __typename ... on Error { code message } } }`,
        { input: { approvalId: id, verdict: 'REJECT', reason: 'gatehouse agents doctor' } },
        { signal },
      )
      .catch(() => {})
}

function versionOf(binary: string): number[] | null {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 20_000 })
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(stdout ?? '')
  return found ? found.slice(1).map(Number) : null
}

function isBefore(version: number[], other: number[]): boolean {
  const at = version.findIndex((part, i) => part !== other[i])
  return at >= 0 && version[at]! < other[at]!
}

/** Whether Codex says that it skips the hook; false where it does not say. */
async function isUntrusted(binary: string, signal: AbortSignal): Promise<boolean> {
  const child = spawn(binary, ['app-server'], { stdio: ['pipe', 'pipe', 'ignore'], signal, timeout: 20_000 })
  child.on('error', () => {})
  child.stdin.on('error', () => {})
  const message = (more: object) => child.stdin.write(`${writeJson({ jsonrpc: '2.0', ...more })}\n`)
  message({ id: 1, method: 'initialize', params: { clientInfo: { name: 'gatehouse', version: '1' } } })
  message({ method: 'initialized' })
  message({ id: 2, method: 'hooks/list', params: { cwds: [process.cwd()] } })
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = readJson(line) as { id?: number; result?: { data?: { hooks?: CodexHook[] }[] } }
      if (answer.id !== 2) continue
      const ours = (answer.result?.data ?? []).flatMap(({ hooks }) => hooks ?? []).filter(isOurs)
      return ours.some(({ trustStatus }) => trustStatus !== 'trusted')
    }
    return false
  } finally {
    child.kill()
  }
}

interface CodexHook {
  command?: string
  trustStatus?: string
}
const isOurs = ({ command }: CodexHook) => command?.includes('/v1/agent/codex/') === true
