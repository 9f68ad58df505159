/** What is built: modules that a browser loads, and types that a program in another folder compiles with. */
import { execFile } from 'node:child_process'
import { readFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildServer } from '../support/build.ts'
import { startCuttable } from '../support/cuttable.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { logOf } from './clients.ts'

// Compilers, browsers and processes take long on a busy machine.
vi.setConfig({ testTimeout: 900_000 })
afterAll(() => vi.resetConfig())

const root = resolve(import.meta.dirname, '../..')
const page = `<!doctype html><script type="importmap">{"imports":{
  "gatehouse-server/client": "/client/index.js", "graphql-ws/client": "/graphql-ws/client.js" }}</script>
<script type="module">import * as gatehouse from 'gatehouse-server/client'; globalThis.gatehouse = gatehouse</script>`

let h: Harness
let fixtures: Fixtures
let site: Server
let origin: string
beforeAll(async () => {
  const { client } = await buildServer()
  site = createServer(async ({ url = '/' }, response) => {
    const [, part, name = ''] = /^\/(client|graphql-ws|src\/core)\/([\w.-]+\.js)$/.exec(url) ?? []
    const folder =
      part === 'graphql-ws' ? join(root, 'node_modules/graphql-ws/dist') : join(client, '..', part ?? '')
    const body = part ? await readFile(join(folder, name)).catch(() => null) : page
    const type = part ? 'text/javascript' : 'text/html'
    response.writeHead(body === null ? 404 : 200, { 'content-type': type }).end(body)
  })
  await new Promise<void>((ready) => site.listen(0, '127.0.0.1', ready))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  h = await openHarness({ corsOrigins: [origin] })
  fixtures = await makeFixtures(h)
})
afterAll(async () => {
  site.closeAllConnections()
  site.close()
  await fixtures.close()
  await h.stop()
})

test.skipIf(!hasChromium)('a page runs client tools over connections that are cut', async () => {
  const proxy = await startCuttable(h.url)
  const browser = await openChromium()
  const tab = await browser.newPage()
  const faults: string[] = []
  tab.on('pageerror', (error) => faults.push(error.message))
  await tab.exposeFunction('cut', () => proxy.cut())
  await tab.goto(origin)
  const agentId = await fixtures.agent()
  const prompt = `${[1, 2, 3, 4].map((n) => `call ask {"word":"w${n}"}`).join('\nthen\n')}\nthen\nslow 10ms\nsay a b c d e f`
  const seen = await tab.evaluate(
    async ({ url, key, agent, text }) => {
      const { cut, gatehouse } = globalThis as unknown as {
        cut(): Promise<number>
        gatehouse: typeof import('../../client/index.ts')
      }
      const { createClient } = gatehouse
      const client = createClient({ url, key })
      const { id } = await client.startGeneration({ agentId: agent, prompt: text })
      const [cursors, words, texts]: string[][] = [[], [], []]
      const generation = await client.runClientTools(
        id,
        {
          ask: async ({ word }) => {
            words!.push(word)
            if (word !== 'w4') await cut()
            return { word }
          },
        },
        {
          onEvent: (event) => {
            if (event.type === 'TEXT_DELTA') texts!.push(event.text)
            else cursors!.push(event.cursor)
          },
        },
      )
      const refused = await client
        .cancelGeneration('gen_01234567890123456789012345')
        .catch((error: Error) => error)
      client.close()
      return { generation, cursors, words, texts, refused: (refused as Error).name }
    },
    { url: proxy.url, key: adminKey, agent: agentId, text: prompt },
  )
  expect(seen.generation).toMatchObject({ status: 'COMPLETED', output: { text: 'a b c d e f' } })
  expect(seen.words).toEqual(['w1', 'w2', 'w3', 'w4'])
  expect(seen.cursors).toEqual(await logOf(h, seen.generation.id))
  expect(seen.texts!.join('')).toBe('a b c d e f')
  expect(seen.refused).toBe('NotFoundError')
  expect(faults).toEqual([])
  await browser.close()
  await proxy.close()
})

test('a program elsewhere compiles against the declarations, strictly, in Node and for browsers', async () => {
  const run = promisify(execFile)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-types-'))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const own = join(folder, 'node_modules/gatehouse-server')
  await mkdir(own, { recursive: true })
  await writeFile(join(own, 'package.json'), await readFile(join(root, 'package.json')))
  await run(process.execPath, [tsc, '-p', join(root, 'tsconfig.client.json'), '--outDir', join(own, 'dist')])
  for (const name of ['graphql-ws', '@types'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(
    join(folder, 'main.ts'),
    `import { createClient, ConflictError, type Approval } from 'gatehouse-server/client'
const client = createClient({ url: 'http://127.0.0.1:4000', key: 'gh_' })
for await (const event of client.generationEvents('gen_')) {
  if (event.type === 'TEXT_DELTA') { const text: string = event.text; void text }
  // @ts-expect-error only some events have a text
  else void event.text
}
const end = await client.runClientTools('gen_', { read: async ({ path }: { path: string }) => path })
const status: 'COMPLETED' | string = end.status
const decide = (approval: Approval) => client.approvals.decide(approval, { verdict: 'APPROVE' })
// @ts-expect-error no such verdict
const wrong = (approval: Approval) => client.approvals.decide(approval, { verdict: 'MAYBE' })
// @ts-expect-error the agent is missing
void client.startGeneration({ prompt: 'x' })
export { ConflictError, decide, status, wrong }
`,
  )
  // The entry of package.json is where the compiler has put it.
  await writeFile(
    join(folder, 'main.mjs'),
    "import { createClient } from 'gatehouse-server/client'; console.log(createClient.name)",
  )
  const { stdout: printed } = await run(process.execPath, ['main.mjs'], { cwd: folder })
  expect(printed).toBe('createClient\n')
  const node = { module: 'nodenext', types: ['node'], lib: ['es2024'] }
  const dom = ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable']
  const browser = { module: 'esnext', moduleResolution: 'bundler', types: [], lib: dom }
  for (const options of [node, browser]) {
    const compilerOptions = { noEmit: true, strict: true, target: 'es2022', skipLibCheck: false, ...options }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
    await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }: { stdout: string }) =>
      expect(stdout, options.module).toBe(''),
    )
  }
  await rm(folder, { recursive: true })
})
