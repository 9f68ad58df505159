/** An MCP server over standard input and output, as a child process: JSON-RPC, one message a line. */
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, writeJson } from '../client/index.ts'
import { Lines } from './message-lines.ts'

/** What a server says to a request. */
export type Answer = { result: unknown } | { error: unknown }

type Wire = Record<string, unknown>
/** Null: it is too large to be read. Undefined: there is none, because the server has ended. */
type Settled = Answer | null | undefined

/** The time that the process has to end when its input ends, and again at SIGTERM. Milliseconds. */
const graceMs = 2000
/** Bytes that wait until the process reads them; a request that comes then is not sent. */
const mostUnread = 16 * 1024 * 1024

const notServed: Answer = { error: { code: -32601, message: 'Method not found' } }
const notRead: Answer = { error: { code: -32000, message: 'The server does not read its input.' } }

export class StdioServer {
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>
  /** Called when the server says that a list of it changed. */
  onChanged = () => {}
  readonly #command: string
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #open = new Map<string, (answer: Settled) => void>()
  /** The server's answer to the handshake. */
  #began: Settled

  /** Starts it with the environment of this process, but for the key of the connector. */
  constructor(command: string, args: readonly string[]) {
    this.#command = command
    const { GATEHOUSE_KEY: _key, ...env } = process.env
    // In a group of its own, an interrupt at the terminal does not reach it before this process is done with it.
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env, detached: true })
    this.#exited = new Promise((resolve) => this.#child.once('exit', () => resolve()))
    this.ended = this.#end()
    const lines = new Lines(
      (line) => this.#receive(line),
      (ends) => {
        for (const id of this.#open.keys()) if (ends.includes(`"${id}"`)) this.#settle(id, null)
      },
    )
    this.#child.stdout!.on('data', (chunk: Buffer) => lines.push(chunk))
  }

  /** Makes the handshake. Throws when the server refuses it. */
  async begin(): Promise<void> {
    const clientInfo = { name: 'gatehouse-connect', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    this.#began = await this.#request('initialize', { method: 'initialize', params })
    if (!this.#began || 'error' in this.#began)
      throw new Error(`${this.#command} refused the handshake of MCP.`)
    this.#write({ method: 'notifications/initialized' })
  }

  /** Sends a JSON-RPC message; a request has this id. Undefined also for a notification. */
  async ask(id: string, text: string): Promise<Settled> {
    const message = parsed(text)
    if (!message) return undefined
    const { method } = message
    // One process has one handshake, in the earlier protocol.
    if (method === 'initialize') return this.#began
    if (method === 'server/discover') return notServed
    if (method === 'ping') return { result: {} }
    if (message['id'] !== undefined) return this.#request(id, message)
    if (this.#isBehind()) return undefined
    this.#write(message)
    // Whoever asked is gone, and many servers do not answer what was cancelled.
    if (method === 'notifications/cancelled')
      this.#settle((message['params'] as Wire | undefined)?.['requestId'], undefined)
    return undefined
  }

  /** Ends the process and what it has started. */
  async stop(): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    this.#child.stdin!.end()
    for (const name of [null, 'SIGTERM'] as const) {
      if (name) signalGroup(pid, name)
      const isOver = this.#exited.then(() => true)
      if (await Promise.race([isOver, pause(graceMs, false, { ref: false })])) break
    }
    // Also what it has left behind.
    signalGroup(pid, 'SIGKILL')
  }

  async #end(): Promise<string> {
    const why = await new Promise<string>((resolve) => {
      this.#child.once('error', ({ message }) => resolve(`${this.#command} cannot be started: ${message}`))
      this.#child.once('exit', (code, signal) =>
        resolve(`${this.#command} has ended: ${signal ?? `exit code ${code}`}.`),
      )
      // One that lives on without them serves nobody. Most end at that moment, and their end says more.
      const closed = (what: string) => () =>
        void setTimeout(() => resolve(`${this.#command} has closed its ${what}.`), graceMs).unref()
      this.#child.stdin!.on('error', closed('input'))
      this.#child.stdout!.once('close', closed('output'))
    })
    for (const settle of this.#open.values()) settle(undefined)
    this.#open.clear()
    return why
  }

  #request(id: string, message: Wire): Promise<Settled> {
    if (this.#isBehind()) return Promise.resolve(notRead)
    return new Promise((resolve) => {
      this.#open.set(id, resolve)
      this.#write({ ...message, id })
    })
  }

  #write(message: Wire): void {
    this.#child.stdin!.write(`${writeJson({ jsonrpc: '2.0', ...message })}\n`)
  }

  #isBehind(): boolean {
    return this.#child.stdin!.writableLength > mostUnread
  }

  #settle(id: unknown, answer: Settled): void {
    if (typeof id !== 'string') return
    const settle = this.#open.get(id)
    this.#open.delete(id)
    settle?.(answer)
  }

  #receive(line: string): void {
    const message = parsed(line)
    if (!message) return
    const { id, method } = message
    if (typeof method !== 'string')
      this.#settle(id, 'result' in message ? { result: message['result'] } : { error: message['error'] })
    // One that asks and does not read gets no answers.
    else if (id !== undefined) {
      if (!this.#child.stdin!.writableNeedDrain)
        this.#write({ id, ...(method === 'ping' ? { result: {} } : notServed) })
    } else if (/^notifications\/(tools|prompts|resources)\/list_changed$/.test(method)) this.onChanged()
  }
}

/** Signals the process and what it has started, such as the server that a package runner runs. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

function parsed(text: string): Wire | null {
  try {
    const value = readJson(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Wire) : null
  } catch {
    return null
  }
}
