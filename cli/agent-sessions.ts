/** `gatehouse agents sessions|resume`: what coding agents have asked, and going on after a verdict. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '../client/index.ts'
import { agentNames, hookPrograms } from './agent-hooks.ts'
import { note, oneLine, out, outJson, red, table } from './screen.ts'
import type { ParsedArguments } from './usage.ts'

interface AgentCall {
  id: string
  name: string
  status: string
  createdAt: string
  arguments: { session?: string; cwd?: string } | null
}

/** The newest calls of the coding agents. */
async function callsOf(client: Client, filter: object, signal: AbortSignal): Promise<AgentCall[]> {
  const { tools } = await client.query<{ tools: { nodes: { id: string; name: string }[] } }>(
    `query AgentTools { tools(first: 100, kind: CLIENT) { nodes { id name } } }`,
    {},
    { signal },
  )
  const all: AgentCall[] = []
  for (const { id, name } of tools.nodes) {
    if (!agentNames.some((one) => one === name)) continue
    const { toolCalls } = await client.query<{ toolCalls: { nodes: AgentCall[] } }>(
      `query AgentCalls($filter: ToolCallFilter) { toolCalls(first: 100, filter: $filter) {
        nodes { id name status createdAt arguments } } }`,
      { filter: { ...filter, toolId: id } },
      { signal },
    )
    all.push(...toolCalls.nodes)
  }
  return all
}

/** A line for each session, the newest first. */
export async function sessions(
  client: Client,
  given: ParsedArguments,
  _words: string[],
  signal: AbortSignal,
): Promise<number> {
  const bySession = new Map<string, AgentCall[]>()
  for (const call of await callsOf(client, {}, signal)) {
    const key = `${call.name} ${call.arguments?.session ?? ''}`
    bySession.set(key, [...(bySession.get(key) ?? []), call])
  }
  const rows = [...bySession.values()]
    .map((calls) => ({
      agent: calls[0]!.name,
      session: calls[0]!.arguments?.session ?? null,
      cwd: calls[0]!.arguments?.cwd ?? null,
      calls: calls.length,
      waiting: calls.filter(({ status }) => status === 'AWAITING_APPROVAL').length,
      last: calls
        .map(({ createdAt }) => createdAt)
        .toSorted()
        .at(-1)!,
    }))
    .toSorted((a, b) => b.last.localeCompare(a.last))
  if (given.options['json']) rows.forEach(outJson)
  else
    out(
      table(
        rows.map((row) => [
          row.agent,
          row.session ?? '',
          `${row.calls} calls`,
          `${row.waiting} waiting`,
          row.last,
          row.cwd ?? '',
        ]),
      ),
    )
  return 0
}

/** Between two looks, in milliseconds. */
const lookMs = 2000

/** One run of claude for each session with a call that is approved and that nobody has taken. */
export async function resume(
  client: Client,
  given: ParsedArguments,
  _words: string[],
  signal: AbortSignal,
): Promise<number> {
  const tried = new Set<string>()
  for (;;) {
    const approved = await callsOf(client, { statuses: ['APPROVED'] }, signal)
    for (const { id, name, arguments: args } of approved) {
      const { session, cwd } = args ?? {}
      if (name !== 'claude' || !session || !cwd || tried.has(id)) continue
      tried.add(id)
      await resumeOnce(session, cwd, signal)
    }
    if (given.options['once']) return 0
    await pause(lookMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return 0
  }
}

/** Two that resume the same session at once: one of them does. */
async function resumeOnce(session: string, cwd: string, signal: AbortSignal): Promise<void> {
  if (!/^[\w-]{1,100}$/.test(session)) return
  const lock = join(tmpdir(), `gatehouse-resume-${session}`)
  const held = takeLock(lock)
  if (held === null) return
  try {
    note(`claude -p --resume ${session}  (${oneLine(cwd)})`)
    const child = spawn(hookPrograms.claude.binary, ['-p', '--resume', session], {
      cwd,
      stdio: ['ignore', 'inherit', 'inherit'],
      signal,
    })
    await new Promise<void>((resolve) => {
      child.on('error', (error) => (note(red(oneLine(error.message))), resolve()))
      child.on('close', () => resolve())
    })
  } finally {
    closeSync(held)
    rmSync(lock, { force: true })
  }
}

/** The lock of a process that is gone is taken over. */
function takeLock(lock: string): number | null {
  for (let tries = 0; tries < 2; tries++)
    try {
      const held = openSync(lock, 'wx', 0o600)
      writeFileSync(held, String(process.pid))
      return held
    } catch {
      if (isAlive(Number(readIfThere(lock)))) return null
      rmSync(lock, { force: true })
    }
  return null
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
