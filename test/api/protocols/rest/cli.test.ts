/** SOAT's own command line, @soat/cli, against a running server: what a shell script that was written for SOAT does. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { hasPeers, peerFile } from '../../../support/peers.ts'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'

describe.skipIf(!hasPeers)('the command line of SOAT', () => {
  let h: Harness
  let fixtures: Fixtures
  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
  })
  afterAll(async () => {
    await fixtures?.close()
    await h?.stop()
  })

  /** Runs a command and returns what it printed. Rejects with its exit code and its standard error. */
  async function soat(command: string, flags: Record<string, unknown>, key = adminKey): Promise<any> {
    const args = Object.entries(flags).flatMap(([name, value]) => [
      `--${name}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const env = { PATH: process.env['PATH'], SOAT_BASE_URL: h.url, SOAT_TOKEN: key, HOME: '/nonexistent' }
    const program = [peerFile('node_modules/@soat/cli/bin/soat'), command, ...args]
    const { stdout } = await promisify(execFile)(process.execPath, program, { env })
    return JSON.parse(stdout)
  }

  test('makes a tool, lists it and calls it', async () => {
    const parameters = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }
    const execute = { url: `${fixtures.upstream.url}/weather/{word}`, method: 'GET' }
    const tool = await soat('create-tool', { name: 'weather', type: 'http', execute, parameters })
    expect(tool).toMatchObject({ id: expect.stringMatching(/^tool_/), name: 'weather', execute })
    expect((await soat('list-tools', {})).data).toContainEqual(tool)
    const called = await soat('call-tool', { tool_id: tool.id, input: { word: 'sun' } })
    expect(called).toEqual({ saw: '/weather/sun' })
  })

  test('runs an agent, and gives the output that it waits for', async () => {
    const agent_id = await fixtures.agent()
    const messages = [{ role: 'user', content: 'call ask {"word":"w"}\nthen\nsay done' }]
    const run = await soat('create-agent-generation', { agent_id, messages })
    expect(run).toMatchObject({ status: 'requires_action', tool_calls: [{ tool_name: 'ask' }] })
    const [{ tool_call_id }] = run.tool_calls
    const tool_outputs = [{ tool_call_id, output: 'yes' }]
    const given = { agent_id, generation_id: run.id, tool_outputs }
    expect(await soat('submit-agent-tool-outputs', given)).toMatchObject({
      status: 'completed',
      text: 'done',
    })
  })

  test('shows a refusal, and fails', async () => {
    const failed = soat('get-tool', { tool_id: 'tool_unknown' })
    await expect(failed).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND') })
    await expect(soat('list-tools', {}, 'gh_wrong')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('UNAUTHENTICATED'),
    })
  })
})
