/**
 * Pieces of programs in the guides, which are no programs by themselves: what they leave to the reader is put around them, and each
 * runs as it is written, with the package that it is about.
 */
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildServer } from '../support/build.ts'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { copilotKitPackages, describeWithPeers, hasPeers, importPeer, peerFile } from '../support/peers.ts'
import { addProvider, startStrictProvider, type StrictProvider } from '../support/strict-provider.ts'
import { servePage } from '../support/vite-page.ts'
import { examplesOf, type Example } from './blocks.ts'
import { read } from './documents.ts'
import { installCommand } from './newcomer.ts'
import { openShell } from './shell.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

/** The one example of a guide with this text in it. Its answers stay in the guide. */
function exampleOf(guide: string, part: string): Example {
  const found = examplesOf(guide, read(`docs/guides/${guide}.md`)).filter(({ text }) => text.includes(part))
  expect(found, `${guide} has one example with ${part}`).toHaveLength(1)
  return found[0]!
}

/** Runs a piece of a program with these names in its scope; returns the value of an expression behind it. */
async function run(text: string, scope: Record<string, unknown>, result: string): Promise<any> {
  const here = text.replaceAll('http://127.0.0.1:4000', h.url)
  const body = `return (async () => {\n${here}\nreturn ${result}\n})()`
  return new Function(...Object.keys(scope), body)(...Object.values(scope))
}

describe('the endpoint of the guide to webhooks', () => {
  let endpoint: Loopback
  let program: string
  const enqueued: Record<string, any>[] = []
  beforeAll(async () => {
    program = await (await buildServer()).program(exampleOf('webhooks', 'POST(request)').text)
    let POST: ((request: Request) => Promise<Response>) | undefined
    endpoint = await startLoopback(async ({ headers, body }, response) => {
      POST ??= ((await import(pathToFileURL(program).href)) as { POST: typeof POST }).POST!
      const request = new Request(endpoint.url, { method: 'POST', headers: headers as HeadersInit, body })
      const status = await POST(request).then(
        (answer) => answer.status,
        () => 401,
      )
      response.writeHead(status).end()
    })
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
    await endpoint?.close()
    await rm(program, { force: true })
  })

  test('a delivery is verified and taken once; one that somebody else has signed is not', async () => {
    const types = ['GENERATION_COMPLETED']
    const made = await h.mutate(
      'createWebhook',
      { url: endpoint.url, types, full: true },
      'secret webhook { id }',
    )
    vi.stubEnv('WEBHOOK_SECRET', made['secret'])
    const ids = new Set<string>()
    vi.stubGlobal('seen', async (id: string) => ids.size === ids.add(id).size)
    vi.stubGlobal('enqueue', async (event: Record<string, any>) => enqueued.push(event))
    const generationId = await fixtures.start(await fixtures.agent(), 'say hello')
    await vi.waitUntil(() => enqueued.length > 0, { timeout: 90_000, interval: 20 })
    expect(enqueued).toMatchObject([{ type: 'generation.completed', data: { generationId } }])
    const { body, headers: received } = endpoint.seen[0]!
    const headers = Object.fromEntries(
      Object.entries(received).filter(([name]) => name.startsWith('webhook-')),
    )
    const send = (text: string) =>
      fetch(endpoint.url, { method: 'POST', headers: headers as Record<string, string>, body: text })
    expect((await send(body)).status).toBe(204)
    expect((await send(body.replace('completed', 'cancelled'))).status).toBe(401)
    expect(enqueued).toHaveLength(1)
  })
})

describeWithPeers('programs that ask the agent `support` for a refund', () => {
  let provider: StrictProvider
  let count = 0
  beforeAll(async () => {
    provider = await startStrictProvider()
    await addProvider(h, provider, 'compatible', 'scripted')
    const config = {
      http: {
        url: `${fixtures.upstream.url}/refund`,
        inputSchema: objectSchema({ order_id: { type: 'string' } }, ['order_id']),
      },
    }
    const gate = { autoApprove: false }
    const { tool } = await h.mutate('createTool', { name: 'send_refund', config, gate }, 'tool { id }')
    const agent = { name: 'support', model: 'scripted/m', toolIds: [tool.id] }
    await h.mutate('createAgent', agent, 'agent { id }')
  })
  afterEach(() => expect(provider.clear()).toBe(0))
  afterAll(() => provider?.close())

  /** What a model does with the prompt of the guides. Returns how often the refund has been sent since. */
  function refunding(): () => number {
    const call = {
      id: `refund_${++count}`,
      name: 'send_refund',
      arguments: JSON.stringify({ order_id: 'A-17' }),
    }
    provider.script({ calls: [call] }, { text: 'The money is on its way.' })
    const sent = () => fixtures.upstream.seen.filter(({ url }) => url === '/refund').length
    const before = sent()
    return () => sent() - before
  }

  test('the OpenAI Agents SDK: the question is approved, and the agent answers', async () => {
    const sent = refunding()
    const { Agent, OpenAIProvider, Runner, hostedMcpTool } = await importPeer<any>('@openai/agents')
    const scope = { Agent, OpenAIProvider, Runner, hostedMcpTool, key: adminKey }
    expect(await run(exampleOf('openai', 'new Runner').text, scope, 'finalOutput')).toBe(
      'The money is on its way.',
    )
    expect(sent()).toBe(1)
  })

  test('AG-UI: the interrupt is answered, and the run goes on', async () => {
    const sent = refunding()
    const { HttpAgent } = await importPeer<any>('@ag-ui/client')
    const scope = { HttpAgent, key: adminKey, tools: [] }
    const messages = await run(exampleOf('ag-ui', 'new HttpAgent').text, scope, 'agent.messages')
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'The money is on its way.' })
    expect(sent()).toBe(1)
  })

  test.skipIf(!copilotKitPackages || !hasChromium)(
    'CopilotKit: the page asks, a press approves, and the run goes on',
    { timeout: 360_000 },
    async () => {
      const sent = refunding()
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-page-of-the-guide-'))
      const other = resolve(import.meta.dirname, '../api/protocols/ag-ui/copilotkit-page')
      for (const name of ['index.html', 'vite.config.mjs']) await cp(join(other, name), join(folder, name))
      const around = "createRoot(document.querySelector('#root')).render(page)"
      const text = `import { createRoot } from 'react-dom/client'\n${exampleOf('ag-ui', 'CopilotChat').text}\n${around}`
      await writeFile(join(folder, 'page.jsx'), text)
      const env = { PATH: process.env['PATH']!, GATEHOUSE_URL: h.url, GATEHOUSE_KEY: adminKey }
      const served = await servePage(folder, { packages: copilotKitPackages!, env })
      const page = await (await openChromium()).newPage()
      try {
        page.setDefaultTimeout(60_000)
        await page.goto(served.url)
        await page.getByRole('textbox').fill('Refund order A-17.')
        await page.getByTestId('copilot-send-button').click()
        await page.getByText('send_refund {"order_id":"A-17"}').waitFor()
        expect(sent()).toBe(0)
        await page.getByRole('button', { name: 'Approve', exact: true }).click()
        await page.getByText('The money is on its way.', { exact: true }).waitFor()
        expect(sent()).toBe(1)
      } finally {
        await page.close()
        await served.close()
        await rm(folder, { recursive: true, force: true })
      }
    },
  )
})

test.skipIf(!hasPeers)(
  'the guide to MCP: a server of npm that speaks stdio is connected as it is written, and offers its tools',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-connect-'))
    await installCommand(await buildServer(), folder)
    const name = '@modelcontextprotocol/server-filesystem'
    const packages = join(folder, 'node_modules')
    await mkdir(join(packages, '@modelcontextprotocol'), { recursive: true })
    await symlink(peerFile(`node_modules/${name}`), join(packages, name))
    await symlink(
      peerFile(`node_modules/${name}/dist/index.js`),
      join(packages, '.bin/mcp-server-filesystem'),
    )
    await mkdir(join(folder, 'notes'))
    await writeFile(join(folder, 'notes/today.txt'), 'buy milk')
    const policy = {
      statement: [{ effect: 'Allow', action: ['connectors:Serve'], resource: ['connector/notes'] }],
    }
    const { secret } = await h.mutate('createApiKey', { name: 'notes', policy }, 'secret')
    const config = { mcp: { url: 'connector:notes' } }
    const { tool } = await h.mutate('createTool', { name: 'notes', config }, 'tool { id }')
    const shell = openShell(folder)
    const text = exampleOf('mcp', 'gatehouse connect')
      .text.replace('https://gatehouse.example.com', h.url)
      .replace('gh_…', secret)
    try {
      // It runs until it is stopped: in the background of the shell, whose next block may be pasted.
      const [settings, command] = text.split('\n') as [string, string]
      await shell.run(`${settings}\n${command} 2> said.txt &`)
      const actions = await vi.waitUntil(
        async () => {
          const query =
            'query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { status } actions { runtimeName } } } }'
          const { upstream, actions: found } = (await h.gql(query, { id: tool.id })).data['tool']
          return upstream.status === 'CONNECTED' && found.length > 0 && found
        },
        { timeout: 135_000, interval: 100 },
      )
      expect(actions.map((one: { runtimeName: string }) => one.runtimeName)).toContain('notes_write_file')
      const listing = {
        toolId: tool.id,
        action: 'list_directory',
        arguments: { path: join(folder, 'notes') },
      }
      const { toolCall } = await h.mutate('callTool', listing, 'toolCall { status content }')
      expect([toolCall.status, JSON.stringify(toolCall.content)]).toEqual([
        'SUCCEEDED',
        expect.stringContaining('today.txt'),
      ])
      await shell.run('kill %1; wait || true')
    } finally {
      await shell.close()
      expect(await readdir(folder)).toContain('said.txt')
      await rm(folder, { recursive: true, force: true })
    }
  },
)
