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
import { startReplica } from '../support/replica.ts'
import type { Block, Example } from './blocks.ts'
import type { ExampleHosts } from './example-hosts.ts'
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

/** Where somebody follows documents: a server that runs, and the folder and the key that this person has. */
export interface Place {
  url: string
  /** What the server has printed. */
  banner: string
  key: string
  /** In which the commands are run. */
  folder: string
  /** The real address of names in examples. */
  hosts: Record<string, string>
  /** Keeps a program where the packages that it imports are found; returns its path. */
  program(text: string): Promise<string>
}

/** Starts the server as `npm start` does, with an embedded database that is migrated and empty. */
export async function arrive(hosts: ExampleHosts): Promise<Newcomer> {
  const built = await buildServer()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-docs-'))
  await embeddedDatabase(join(folder, 'data'))
  const server = startReplica(built.entry, {
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DATA_DIR: join(folder, 'data'),
    ...hosts.settings,
  })
  try {
    await server.ready
    await installCommand(built, folder)
    const key = (await readFile(join(folder, 'data/operator.key'), 'utf8')).trim()
    const program = (text: string) => built.program(text)
    const place = { url: server.url, banner: server.output(), key, folder, hosts: hosts.names, program }
    const reader = await meet(place)
    await reader.shell(`export GATEHOUSE_KEY=${key}`)
    return {
      ...reader,
      async leave() {
        await reader.leave()
        await server.stop()
        await rm(folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await Promise.all([server.kill(), rm(folder, { recursive: true, force: true })])
    throw error
  }
}

/** Somebody at a server that runs already, with a shell of its own. `leave` ends what this person has begun, and not the server. */
export async function meet(place: Place): Promise<Newcomer> {
  const reader = new Reader(place)
  await reader.listen()
  return {
    banner: place.banner,
    follow: (example) => reader.follow(example),
    shell: (script) => reader.shell(script),
    turnPage: () => reader.turnPage(),
    leave: () => reader.leave(),
  }
}

/** Puts `gatehouse` where npm puts the commands of an installed package, which is on the path of the shell. */
export async function installCommand({ command }: Built, folder: string): Promise<void> {
  const bin = join(folder, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  const path = join(bin, 'gatehouse')
  await writeFile(path, `#!/bin/sh\nexec node ${command} "$@"\n`)
  await chmod(path, 0o755)
}

class Reader {
  readonly #place: Place
  readonly #hosts: Record<string, string>
  readonly #shell: Shell
  #seen = new SeenIds()
  #streams: { expected: Promise<void>; close: () => Promise<void> }[] = []
  #stopListening = async () => {}
  #waiting: (() => void)[] = []

  constructor(place: Place) {
    this.#place = place
    const { host } = new URL(place.url)
    this.#hosts = { ...place.hosts, '127.0.0.1:4000': host, 'localhost:4000': host }
    this.#shell = openShell(place.folder)
    this.#forget()
  }

  /** What a person still knows on a new page. */
  #forget(): void {
    this.#seen.noteText(`${this.#place.banner}\n${this.#place.key}`)
  }

  /** Hears of every event of the project, which is when a query that did not fit yet is asked again. */
  async listen(): Promise<void> {
    const query = 'subscription { projectEvents { cursor } }'
    const hear = () => this.#waiting.splice(0).forEach((resume) => resume())
    this.#stopListening = await openStream(this.#place.url, this.#place.key, query, hear)
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
      const result = await ask<JsonObject>(this.#place.url, this.#place.key, text)
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
    const close = await openStream(this.#place.url, this.#place.key, query, (result) => {
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
    const path = await this.#place.program(text)
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
    this.#forget()
  }

  async leave(): Promise<void> {
    await this.#stopListening()
    await this.#shell.close()
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
