/** `gatehouse connect` in front of popular servers that speak over standard input and output. */
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { command } from '../cli/command.ts'
import type { Fixtures } from '../support/fixtures.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { peerFile, peerTest } from '../support/peers.ts'
import { forFile } from '../support/for-file.ts'

const closers: (() => unknown)[] = []
const h = await forFile(openHarness())
const folder: string = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-connected-')))
afterAll(async () => {
  for (const close of closers) await close()
  await rm(folder, { recursive: true })
})

async function toolOf(name: string, args: string[], more: object = {}): Promise<string> {
  const program = peerFile(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`)
  const env = { GATEHOUSE_URL: h.url, GATEHOUSE_KEY: adminKey }
  const connector = await command(['connect', name, '--', process.execPath, program, ...args], env)
  closers.push(() => (connector.signal('SIGTERM'), connector.ended))
  await connector.until(`Connected as ${name}`)
  const config = { mcp: { url: `connector:${name}` } }
  return (await h.mutate('createTool', { name, config, ...more }, 'tool { id }'))['tool'].id
}

peerTest('server-filesystem reads at once, and writes when a person has approved', async () => {
  await writeFile(join(folder, 'note.txt'), 'remember the milk')
  const gates = gateFixtures(h, null as unknown as Fixtures)
  const gate = { action: 'write_file', gate: { autoApprove: false } }
  const toolId = await toolOf('filesystem', [folder])
  const config = { mcp: { url: 'connector:filesystem', gates: [gate] } }
  await h.mutate('updateTool', { id: toolId, config }, 'tool { id }')
  const read = await gates.call(toolId, { path: join(folder, 'note.txt') }, { action: 'read_text_file' })
  expect(read).toMatchObject({ status: 'SUCCEEDED', content: [{ text: 'remember the milk' }] })
  const path = join(folder, 'new.txt')
  const waiting = await gates.call(toolId, { path, content: 'written' }, { action: 'write_file' })
  expect(waiting['status']).toBe('AWAITING_APPROVAL')
  await expect(readFile(path, 'utf8')).rejects.toThrow('ENOENT')
  await gates.decide(waiting['approval'].id, 'APPROVE')
  await gates.untilCall(waiting['id'], ['SUCCEEDED'])
  expect(await readFile(path, 'utf8')).toBe('written')
})

peerTest('server-everything has its tools, prompts and resources', async () => {
  const gates = gateFixtures(h, null as unknown as Fixtures)
  const toolId = await toolOf('everything', ['stdio'])
  const sum = await gates.call(toolId, { a: 2, b: 3 }, { action: 'get-sum' })
  expect(sum['status']).toBe('SUCCEEDED')
  expect(sum['content'][0].text).toContain('5')
  const { data } = await h.gql(
    'query($id: ID!) { tool(id: $id) { ... on McpTool { upstream { serverName promptCount resourceCount } } } }',
    { id: toolId },
  )
  expect(data['tool'].upstream.promptCount).toBeGreaterThan(0)
  expect(data['tool'].upstream.resourceCount).toBeGreaterThan(0)
})
