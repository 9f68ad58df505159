/** Somebody who follows the documents: starts the real server, pastes each example, and compares what comes back. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { parse } from 'graphql'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { ask } from '../support/ask.ts'
import { buildServer, type Built } from '../support/build.ts'
import { embeddedDatabase } from '../support/databases.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import type { Block, Example } from './blocks.ts'
import { mismatch, SeenIds, textFits } from './pattern.ts'
import { openShell, type Shell } from './shell.ts'
import { openStream } from './stream.ts'

/** How long an answer may take that depends on work in the background. */
const patienceMs = 15_000

export interface Newcomer {
  /** What the server printed when it started. */
  banner: string
  /** Runs an example as the reader of a document would; throws with the place and the difference. */
  follow(example: Example): Promise<void>
  /** Runs a command line in the same shell as the examples; returns what it prints. */
  shell(script: string): Promise<string>
  /** Ends the streams of a document, whose events must have come by then, and forgets its ids. */
  turnPage(): Promise<void>
  leave(): Promise<void>
}

/** Starts the server as `npm start` does, with an embedded database that is migrated and empty. `hosts` gives the real address of names in examples. */
export async function arrive(hosts: Record<string, string>): Promise<Newcomer> {
  const built = await buildServer()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-docs-'))
  await embeddedDatabase(join(folder, 'data'))
  const server = startReplica(built.entry, {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DATA_DIR: join(folder, 'data'),
    // The servers that stand in for example.com listen on this machine.
    GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true',
  })
  try {
    await server.ready
    await installCommand(built, folder)
    const key = (await readFile(join(folder, 'data/operator.key'), 'utf8')).trim()
    const reader = new Reader(built, server, folder, hosts, key)
    await reader.shell(`export GATEHOUSE_KEY=${key}`)
    await reader.listen()
    return reader
  } catch (error) {
    await Promise.all([server.kill(), rm(folder, { recursive: true, force: true })])
    throw error
  }
}

/** Puts `npx gatehouse` where npm puts the commands of an installed package. */
async function installCommand({ command }: Built, folder: string): Promise<void> {
  const bin = join(folder, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  const path = join(bin, 'gatehouse')
  await writeFile(path, `#!/bin/sh\nexec node ${command} "$@"\n`)
  await chmod(path, 0o755)
}

class Reader implements Newcomer {
  readonly banner: string
  readonly #built: Built
  readonly #server: Replica
  readonly #folder: string
  readonly #hosts: Record<string, string>
  readonly #key: string
  readonly #shell: Shell
  #seen = new SeenIds()
  #streams: { expected: Promise<void>; close: () => Promise<void> }[] = []
  #stopListening = async () => {}
  #waiting: (() => void)[] = []

  constructor(built: Built, server: Replica, folder: string, hosts: Record<string, string>, key: string) {
    this.#built = built
    this.#server = server
    this.#folder = folder
    const { host } = new URL(server.url)
    this.#hosts = { ...hosts, '127.0.0.1:4000': host, 'localhost:4000': host }
    this.#shell = openShell(folder)
    this.banner = server.output()
    this.#key = key
    this.#seen.noteText(`${this.banner}\n${key}`)
  }

  /** Hears of every event of the project, which is when a query that did not fit yet is asked again. */
  async listen(): Promise<void> {
    const query = 'subscription { projectEvents { cursor } }'
    const hear = () => this.#waiting.splice(0).forEach((resume) => resume())
    this.#stopListening = await openStream(this.#server.url, this.#key, query, hear)
  }

  /** The next event of the project; at the latest in a quarter of a second, since a row can be parked after its last event. */
  #nextNews(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 250)
      this.#waiting.push(() => (clearTimeout(timer), resolve()))
    })
  }

  async follow(example: Example): Promise<void> {
    const text = this.#localised(this.#seen.fill(example.text))
    if (example.language === 'graphql') return this.#paste(text, example.answers, example.at)
    if (example.language === 'json') return this.#connectMcpClient(JSON.parse(text) as JsonObject)
    const printed = example.language === 'js' ? await this.#program(text) : await this.shell(text)
    this.#seen.noteText(printed)
    for (const answer of example.answers) this.#judge(answer, printed)
  }

  /** In one pass: an address that was put in may begin as one of the names does. */
  #localised(text: string): string {
    const names = new RegExp(Object.keys(this.#hosts).join('|').replaceAll('.', '\\.'), 'g')
    return text.replace(names, (name) => this.#hosts[name]!)
  }

  /** GraphQL: a query may be asked again until its answer is as the document says, as a person would try again. */
  async #paste(text: string, answers: Block[], at: string): Promise<void> {
    const [definition] = parse(text).definitions
    const operation = definition?.kind === 'OperationDefinition' ? definition.operation : 'query'
    if (operation === 'subscription') return this.#subscribe(text, answers, at)
    const deadline = performance.now() + patienceMs
    for (;;) {
      const result = await ask<JsonObject>(this.#server.url, this.#key, text)
      const fault = faultOf(result as unknown as JsonObject, answers)
      if (!fault) return this.#seen.note(result.data)
      if (operation === 'mutation' || result.errors || performance.now() > deadline)
        throw new Error(`${at}: ${fault}`)
      await this.#nextNews()
    }
  }

  /** The stream stays open to the end of the document; its events must have come in the order of its answers by then. */
  async #subscribe(query: string, answers: Block[], at: string): Promise<void> {
    const wanted = answers.map((answer) => JSON.parse(answer.text) as Json)
    let settle = () => {}
    const expected = new Promise<void>((resolve, reject) => {
      const fault = () => new Error(`${at}: no event fits ${JSON.stringify(wanted[0])}`)
      const late = setTimeout(() => reject(fault()), patienceMs * 3)
      settle = () => (clearTimeout(late), resolve())
    })
    expected.catch(() => {})
    const close = await openStream(this.#server.url, this.#key, query, (result) => {
      this.#seen.note(result)
      if (wanted.length > 0 && mismatch(wanted[0]!, result) === null) wanted.shift()
      if (wanted.length === 0) settle()
    })
    if (wanted.length === 0) settle()
    this.#streams.push({ expected, close })
  }

  shell(script: string): Promise<string> {
    return this.#shell.run(this.#localised(script))
  }

  /** A program, kept where the packages of the repository are found. */
  async #program(text: string): Promise<string> {
    const path = await this.#built.program(text)
    try {
      return await this.shell(`node ${path}`)
    } finally {
      await rm(path)
    }
  }

  /** The entry that MCP clients take: the official client connects with it and finds tools. */
  async #connectMcpClient(settings: JsonObject): Promise<void> {
    for (const entry of Object.values(settings['mcpServers'] as Record<string, JsonObject>)) {
      const client = new Client({ name: 'newcomer', version: '1.0.0' })
      const headers = entry['headers'] as Record<string, string>
      await client.connect(
        new StreamableHTTPClientTransport(new URL(String(entry['url'])), {
          requestInit: { headers },
        }) as never,
      )
      const { tools } = await client.listTools()
      await client.close()
      if (tools.length === 0) throw new Error(`no tools at ${String(entry['url'])}`)
    }
  }

  #judge(answer: Block, printed: string): void {
    const fault =
      answer.language === 'json'
        ? mismatch(JSON.parse(answer.text) as Json, JSON.parse(printed) as Json)
        : textFits(answer.text, printed)
          ? null
          : `the document says\n${answer.text}\nand the command said\n${printed}`
    if (fault) throw new Error(`${answer.at}: ${fault}`)
  }

  async turnPage(): Promise<void> {
    const streams = this.#streams.splice(0)
    try {
      for (const { expected } of streams) await expected
    } finally {
      for (const { close } of streams) await close()
    }
    this.#seen.noteText(`${this.banner}\n${this.#key}`)
  }

  async leave(): Promise<void> {
    await this.#stopListening()
    await this.#shell.close()
    await this.#server.stop()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** What is wrong with a result: errors, a refusal that no answer expects, or a difference from the answer. */
function faultOf(result: JsonObject, answers: Block[]): string | null {
  const [answer] = answers
  if (answer) return mismatch(JSON.parse(answer.text) as Json, result)
  if (result['errors']) return JSON.stringify(result['errors'])
  const refusal = Object.values((result['data'] ?? {}) as JsonObject).find(
    (one) => one !== null && typeof one === 'object' && 'code' in one && 'message' in one,
  )
  return refusal ? JSON.stringify(refusal) : null
}
