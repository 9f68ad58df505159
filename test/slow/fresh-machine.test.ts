/**
 * The first steps of somebody who has a machine with Node and pastes: README and guides as they are written, from the install to the
 * first result. How long each took is printed; nothing depends on it.
 */
import { copyFile, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { openTab } from '../support/cookie-jar.ts'
import { emptyPostgresDatabase, hasPostgres } from '../support/databases.ts'
import type { TestDatabase } from '../support/postgres-server.ts'
import { examplesOf, type Example } from '../docs/blocks.ts'
import { hasCleanMachine, lacksRegistry, openCleanMachine, type CleanMachine } from '../docs/clean-machine.ts'
import { read } from '../docs/documents.ts'
import { startExampleHosts, type ExampleHosts } from '../docs/example-hosts.ts'
import { meet } from '../docs/newcomer.ts'
import type { Pasted } from '../docs/terminal.ts'

vi.setConfig({ testTimeout: 720_000 })
afterAll(() => vi.resetConfig())

/** The blocks of a document, with those that only this test runs. */
const blocksOf = (file: string): Example[] => examplesOf(file, read(file))

/** The one block of a document with this text in it. */
function block(file: string, part: string): string {
  const found = blocksOf(file).filter(({ text }) => text.includes(part))
  expect(found, `${file} has one block with ${part}`).toHaveLength(1)
  return found[0]!.text
}

const urlIn = async (server: Pasted) => (await server.shows(/Health +(http:\/\/\S+)\/readyz/))[1]!
const keyShown = async (server: Pasted) => (await server.shows(/^ {2}(gh_[\w-]{43})$/m))[1]!
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`

describe.skipIf(!hasCleanMachine)('a machine with nothing but Node', () => {
  let machine: CleanMachine
  let hosts: ExampleHosts
  let clone: string
  /** The clone after the first install; null where the registry does not answer. */
  let installed: string | null = null
  beforeAll(async () => {
    machine = await openCleanMachine()
    hosts = await startExampleHosts()
    clone = await machine.clone('gatehouse')
  })
  afterAll(async () => {
    await machine?.remove()
    await hosts?.close()
  })

  /** Follows a guide at a server from the top, and prints how long it was to the first answer that the guide shows. */
  async function follow(file: string, server: Pasted, folder: string): Promise<void> {
    const [url, key] = [await urlIn(server), await keyShown(server)]
    const began = performance.now()
    const [banner] = await server.shows(/[\s\S]+/)
    const program = async () => {
      throw new Error(`${file} has a program, which this test does not run`)
    }
    const newcomer = await meet({ url, banner, key, folder, hosts: hosts.names, program })
    try {
      await newcomer.shell(`export GATEHOUSE_KEY=${key}`)
      let isFirst = true
      for (const example of blocksOf(file).filter(({ excuse }) => excuse === null)) {
        await newcomer.follow(example)
        if (isFirst && example.answers.length > 0) {
          console.log(`${file}: the first result came ${seconds(began)} after the server was there`)
          isFirst = false
        }
      }
      await newcomer.turnPage()
    } finally {
      // Its streams do not outlive the server.
      await newcomer.leave()
    }
  }

  test('README: the link signs in, the refund that it names waits, and runs once', async ({ skip }) => {
    const began = performance.now()
    const terminal = await machine.terminal(clone)
    const server = await terminal.paste(block('README.md', 'npm ci'))
    const link = await server.shows(/Dashboard +(http:\/\/\S+)/).catch((error: unknown) => {
      if (!lacksRegistry(error)) throw error
      console.warn('SKIPPED LOUDLY: the registry of npm does not answer, so nothing is installed.')
      return skip()
    })
    const { origin, pathname, search } = new URL(link[1]!)
    const browser = openTab(origin)
    await browser.fetch(pathname + search, { origin: null })
    const waiting =
      '{ approvals(filter: { statuses: [PENDING] }, first: 5) { nodes { id arguments toolName generation { id } } } }'
    const nodes = await vi.waitUntil(
      async () => {
        const found = (await browser.gql(waiting)).data.approvals.nodes
        return found.length > 0 && found
      },
      { timeout: 90_000, interval: 50 },
    )
    expect(nodes).toMatchObject([{ toolName: 'send_refund' }])
    expect(/refund of (\d+) is waiting/.exec(read('README.md'))?.[1]).toBe(String(nodes[0].arguments.amount))
    const decide =
      'mutation($id: ID!) { decideApproval(input: { approvalId: $id, verdict: APPROVE }) { __typename } }'
    expect(await browser.gql(decide, { id: nodes[0].id })).toMatchObject({
      data: { decideApproval: { __typename: 'ApprovalPayload' } },
    })
    const run = 'query($id: ID!) { generation(id: $id) { status toolCalls { name attempts { outcome } } } }'
    const ended = await vi.waitUntil(
      async () => {
        const { generation } = (await browser.gql(run, { id: nodes[0].generation.id })).data
        return generation.status === 'COMPLETED' && generation
      },
      { timeout: 90_000, interval: 50 },
    )
    expect(ended.toolCalls).toEqual([{ name: 'send_refund', attempts: [{ outcome: 'SUCCEEDED' }] }])
    console.log(`README: approved and run ${seconds(began)} after the paste`)
    await server.interrupt()
    installed = clone
  })

  test('the quickstart, from its first command to its last', async ({ skip }) => {
    if (!installed) return skip()
    // The same words as README's, which the test before has pasted: what it has installed is there, and its data are not.
    const [words, rest] = block('README.md', 'npm ci').split(' && ') as [string, string]
    expect(block('docs/guides/quickstart.md', words)).toBe(`${words} && ${rest.split('  ')[0]!}`)
    await rm(join(installed, '.gatehouse'), { recursive: true })
    const server = await (await machine.terminal(installed)).paste(rest)
    await follow('docs/guides/quickstart.md', server, installed)
    await server.interrupt()
  })

  describe.skipIf(!hasPostgres)('operations', () => {
    let database: TestDatabase
    beforeAll(async () => void (database = await emptyPostgresDatabase()))
    afterAll(() => database?.drop())

    test('in production: it starts, is restored and gets another key as the guide says', async ({ skip }) => {
      if (!installed) return skip()
      const guide = 'docs/guides/operations.md'
      // Of its own: what an earlier install has built would hide that this one builds nothing.
      const folder = await machine.clone('production')
      const began = performance.now()
      const terminal = await machine.terminal(folder)
      const name = 'postgres://gatehouse@db/gatehouse'
      const text = block(guide, 'NODE_ENV=production')
      expect(text).toContain(name)
      const paste = text.replace(name, database.url)
      const signIn = async (server: Pasted) => {
        const url = await urlIn(server)
        const file = (await server.shows(/cat '(\S+operator\.key)'/))[1]!
        return { url, key: (await readFile(file, 'utf8')).trim() }
      }
      const first = await terminal.paste(paste)
      const { url, key } = await signIn(first)
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
      expect((await ask(url, key, '{ viewer { name } }')).data).toEqual({ viewer: { name: 'operator' } })
      console.log(`operations: ready and signed in ${seconds(began)} after the paste`)
      await mutate(url, key, 'setSecret', { name: 'SEALED', value: 'kept' }, 'secret { name }')
      await first.interrupt()

      const after = await terminal.paste(block(guide, 'npm run after-restore'))
      expect(await after.ended).toMatch(/incarnation|UNKNOWN/)

      // What was sealed is opened each time: a second rotation has to open what the first has sealed.
      const keyFile = () => readFile(join(folder, 'secret-key'), 'utf8')
      const keys = [await keyFile()]
      for (const _round of [1, 2]) {
        const rotation = await terminal.paste(block(guide, 'npm run rotate-key'))
        expect(await rotation.ended).toContain('Re-encrypted 1 secrets')
        keys.push(await keyFile())
      }
      expect(new Set(keys).size).toBe(3)
      const again = await terminal.paste(paste)
      const next = await urlIn(again)
      expect((await ask(next, key, '{ viewer { name } }')).data).toEqual({ viewer: { name: 'operator' } })
      expect(await keyFile()).toBe(keys[2])
      await again.interrupt()

      // What a hosting platform starts, with the variables that it has: no port of ours.
      const [, web] = /^web: (.+)$/m.exec(read('Procfile'))!
      const settings = { DATABASE_URL: database.url, GATEHOUSE_SECRET_KEY: keys[2]!.trim() }
      const platform = await machine.terminal(folder, { ...settings, GATEHOUSE_PORT: '', PORT: '0' })
      const hosted = await platform.paste(web!)
      const { port } = new URL(await urlIn(hosted))
      expect(port).not.toBe('4000')
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
      await hosted.interrupt()
    })
  })

  test('as a package: installed from its file, and followed through three guides', async ({ skip }) => {
    if (!installed) return skip()
    const builder = await machine.terminal(installed)
    await (
      await builder.paste('npm pack')
    ).ended
    const tarball = (await readdir(installed)).find((name) => name.endsWith('.tgz'))!
    const folder = await machine.folder('package')
    await copyFile(join(installed, tarball), join(folder, tarball))
    const began = performance.now()
    const terminal = await machine.terminal(folder, hosts.settings)
    const server = await terminal.paste(block('docs/guides/installing.md', 'gatehouse start'))
    await urlIn(server)
    console.log(`installing: the package was installed and started ${seconds(began)} after the paste`)
    for (const file of ['mcp', 'approvals', 'verdicts'].map((name) => `docs/guides/${name}.md`))
      await follow(file, server, folder)
    await server.interrupt()
  })
})
