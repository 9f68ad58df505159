/** A PostgreSQL connection that a test can cut, delay and freeze at a chosen statement: a TCP proxy on loopback. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { oneLine } from './one-line.ts'

/**
 * What happens to a statement. `cutBefore`: the server never receives it. `cutAfter`: the server executes it, and its
 * response is lost. `freeze`: nothing passes on this connection, in either direction, until `thaw`.
 */
export type Fate = 'pass' | 'cutBefore' | 'cutAfter' | 'freeze' | { delayMs: number }

/** A statement on its way to the server. */
export interface Passing {
  /** Counts all statements of the proxy, from 1. */
  n: number
  text: string
  applicationName: string
}

export interface DatabaseProxy {
  /** The database's URL through this proxy. */
  url: string
  /** Decides about each statement from now on; null lets all pass. */
  judge: ((statement: Passing) => Fate) | null
  /** Statements seen so far. */
  statements(): number
  /** Closes all connections at once. */
  cut(): void
  /** From now on nothing passes, on new connections too. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

export async function startDatabaseProxy(target: string): Promise<DatabaseProxy> {
  const to = new URL(target)
  const wires = new Set<Wire>()
  let count = 0
  let frozen = false
  const server = createServer((near) => {
    const far = connect(Number(to.port || 5432), to.hostname)
    const wire = new Wire(near, far, (text, applicationName) => {
      count++
      return proxy.judge?.({ n: count, text, applicationName }) ?? 'pass'
    })
    wires.add(wire)
    wire.onEnd = () => wires.delete(wire)
    if (frozen) wire.freeze()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const proxy: DatabaseProxy = {
    url: url.href,
    judge: null,
    statements: () => count,
    cut: () => [...wires].forEach((wire) => wire.end()),
    freeze() {
      frozen = true
      for (const wire of wires) wire.freeze()
    },
    thaw() {
      frozen = false
      for (const wire of wires) wire.thaw()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const wire of wires) wire.end()
      }),
  }
  return proxy
}

/** One connection: reads the client's messages one by one, and forwards the server's bytes as they arrive. */
class Wire {
  onEnd = () => {}
  #incoming = Buffer.alloc(0)
  #started = false
  #applicationName = ''
  #texts = new Map<string, string>()
  #frozen = false
  #delaying = false
  #cutAtAnswer = false
  #near: Socket
  #far: Socket
  #judge: (text: string, applicationName: string) => Fate

  constructor(near: Socket, far: Socket, judge: (text: string, applicationName: string) => Fate) {
    this.#near = near
    this.#far = far
    this.#judge = judge
    for (const socket of [near, far]) socket.on('error', () => this.end()).on('close', () => this.end())
    near.on('data', (chunk: Buffer) => {
      this.#incoming = Buffer.concat([this.#incoming, chunk])
      this.#pump()
    })
    far.on('data', (chunk: Buffer) => {
      if (this.#cutAtAnswer) return this.end()
      near.write(chunk)
    })
  }

  end(): void {
    this.#near.destroy()
    this.#far.destroy()
    this.onEnd()
  }

  freeze(): void {
    this.#frozen = true
    this.#far.pause()
  }

  thaw(): void {
    this.#frozen = false
    this.#far.resume()
    this.#pump()
  }

  #pump(): void {
    for (;;) {
      if (this.#frozen || this.#delaying || this.#near.destroyed) return
      const head = this.#started ? 1 : 0
      if (this.#incoming.length < head + 4) return
      const length = head + this.#incoming.readUInt32BE(head)
      if (this.#incoming.length < length) return
      const message = this.#incoming.subarray(0, length)
      this.#incoming = this.#incoming.subarray(length)
      if (!this.#pass(message)) return
    }
  }

  /** False when nothing more may pass for now. */
  #pass(message: Buffer): boolean {
    const text = this.#started ? this.#statementOf(message) : this.#start(message)
    const fate = text === null ? 'pass' : this.#judge(oneLine(text), this.#applicationName)
    if (fate === 'cutBefore') {
      this.end()
      return false
    }
    if (fate === 'freeze') {
      this.#incoming = Buffer.concat([message, this.#incoming])
      this.freeze()
      return false
    }
    if (typeof fate === 'object') {
      this.#delaying = true
      setTimeout(() => {
        this.#delaying = false
        if (!this.#far.destroyed) this.#far.write(message)
        this.#pump()
      }, fate.delayMs)
      return false
    }
    if (fate === 'cutAfter') this.#cutAtAnswer = true
    this.#far.write(message)
    return true
  }

  #start(message: Buffer): null {
    // The response to a TLS request is one byte, and another startup message follows.
    if (message.readUInt32BE(4) === 80_877_103) return null
    this.#started = true
    const words = message.subarray(8).toString().split('\0')
    this.#applicationName = words[words.indexOf('application_name') + 1] ?? ''
    return null
  }

  /** The text of a statement that is about to be executed; null for every other message. */
  #statementOf(message: Buffer): string | null {
    const kind = String.fromCharCode(message[0]!)
    const words = () => message.subarray(5).toString('latin1').split('\0')
    if (kind === 'Q') return words()[0]!
    if (kind === 'P') {
      const [name, text] = words()
      this.#texts.set(name!, text!)
      return null
    }
    return kind === 'B' ? (this.#texts.get(words()[1]!) ?? '') : null
  }
}
