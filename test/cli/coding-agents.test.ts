/** `gatehouse agents install|doctor|sessions|resume` as a process, on files of their own and a real server. */
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { command } from './command.ts'

let h: Harness
let home: string
beforeAll(async () => {
  h = await openHarness()
  home = await mkdtemp(join(tmpdir(), 'gatehouse-agents-'))
})
afterAll(async () => {
  await h.stop()
  await rm(home, { recursive: true })
})

async function run(args: string[], env: Record<string, string> = {}) {
  const running = await command(['agents', ...args], {
    GATEHOUSE_URL: h.url,
    GATEHOUSE_KEY: adminKey,
    HOME: home,
    ...env,
  })
  return { code: await running.ended, out: running.out(), err: running.err() }
}
const fileOf = (path: string) => readFile(join(home, path), 'utf8')
const keyIn = (text: string) => /^export GATEHOUSE_\w+_KEY=(\S+)$/m.exec(text)![1]!

describe('install', () => {
  test('keeps what others have written, replaces what it wrote itself, and prints a key that can only ask', async () => {
    const theirs = {
      model: 'opus',
      hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'true' }] }] },
    }
    await mkdir(join(home, '.claude'))
    await writeFile(join(home, '.claude/settings.json'), JSON.stringify(theirs))
    await run(['install', 'claude'])
    const { code, out, err } = await run(['install', 'claude', '--headless', '--wait', '7'])
    expect([code, err]).toEqual([0, expect.stringContaining('.claude/settings.json')])
    const settings = JSON.parse(await fileOf('.claude/settings.json'))
    expect(settings).toMatchObject({ model: 'opus' })
    expect(settings.hooks.PreToolUse).toHaveLength(2)
    expect(settings.hooks.PreToolUse[0]).toEqual(theirs.hooks.PreToolUse[0])
    expect(settings.hooks.PreToolUse[1].hooks[0]).toMatchObject({
      url: `${h.url}/v1/agent/claude/hook?wait=7&undecided=defer`,
      onFailure: 'block',
    })
    expect((await stat(join(home, '.claude/settings.json'))).mode & 0o077).toBe(0)
    expect(await fileOf('.claude/settings.json')).not.toContain(keyIn(out))
    const adds = h.mutate('addCodingAgent', { agent: 'CODEX' }, 'tool { id }', keyIn(out))
    await expect(adds).rejects.toThrow('may not tools:Create')
  })

  test.each([
    ['codex', '.codex/hooks.json'],
    ['copilot', '.copilot/hooks/gatehouse.json'],
    ['gemini', '.gemini/settings.json'],
    ['opencode', '.config/opencode/plugin/gatehouse.js'],
  ])('%s', async (name, path) => {
    const { code, out } = await run(['install', name])
    expect([code, keyIn(out)]).toEqual([0, expect.stringMatching(/^gh_/)])
    expect(await fileOf(path)).toContain(`${h.url}/v1/agent/${name}/hook?wait=`)
    expect(await fileOf(path)).not.toContain(keyIn(out))
  })

  test('writes nothing over a file that it cannot read, and creates no key for it', async () => {
    await writeFile(join(home, '.gemini/settings.json'), '{ // mine\n}')
    const keys = async () =>
      (await h.gql('{ apiKeys(first: 100) { nodes { id } } }')).data['apiKeys'].nodes.length
    const before = await keys()
    const { code, err } = await run(['install', 'gemini'])
    expect([code, err]).toEqual([2, expect.stringContaining('Nothing was written')])
    expect(await fileOf('.gemini/settings.json')).toBe('{ // mine\n}')
    expect(await keys()).toBe(before)
    await rm(join(home, '.gemini/settings.json'))
  })

  test.each([
    [['install']],
    [['install', 'cursor']],
    [['install', 'claude', 'codex']],
    [['install', 'claude', '--wait', 'long']],
    [['install', 'codex', '--headless']],
    [['doctor', 'cursor']],
  ])('%j is a wrong command line', async (args) => {
    expect((await run(args)).code).toBe(2)
  })

  test('its lists are what they were', async () => {
    expect((await run(['list'])).code).toBe(0)
  })
})

test('doctor: a deletion is blocked, its question is closed, and a gate that lets it pass is found', async () => {
  const GATEHOUSE_CLAUDE_KEY = keyIn((await run(['install', 'claude'])).out)
  const well = await run(['doctor', 'claude'], { GATEHOUSE_CLAUDE_KEY })
  expect([well.code, well.err]).toEqual([0, expect.stringContaining('a call was blocked')])
  const { data } = await h.gql('{ approvals(first: 5) { nodes { status arguments } } }')
  expect(data['approvals'].nodes[0]).toMatchObject({
    status: 'REJECTED',
    arguments: { session: 'gatehouse-doctor' },
  })
  const keyless = await run(['doctor', 'claude'])
  expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining('GATEHOUSE_CLAUDE_KEY is not set')])
  const wrong = await run(['doctor', 'claude'], { GATEHOUSE_CLAUDE_KEY: 'gh_nobody' })
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('refused with 401')])
  const { tools } = (await h.gql('{ tools(first: 100) { nodes { id name } } }')).data
  const { id } = tools.nodes.find((one: any) => one.name === 'claude')
  await h.mutate('updateTool', { id, gate: { autoApprove: true } }, 'tool { id }')
  const open = await run(['doctor', 'claude'], { GATEHOUSE_CLAUDE_KEY })
  expect([open.code, open.err]).toEqual([1, expect.stringContaining('was not blocked')])
  await h.mutate('updateTool', { id, gate: { mode: 'ALWAYS' } }, 'tool { id }')
  const nowhere = await run(['doctor'], { HOME: join(home, 'nowhere') })
  expect(nowhere.code).toBe(1)
})

test('sessions are listed, and one that is decided is resumed once', async () => {
  const key = keyIn((await run(['install', 'claude'])).out)
  const body = {
    session_id: 'resumed-session',
    cwd: home,
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'make' },
    tool_use_id: 'toolu_resumed',
  }
  await fetch(`${h.url}/v1/agent/claude/hook?wait=0&undecided=defer`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { out } = await run(['sessions', '--json'])
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toContainEqual(
    expect.objectContaining({ session: 'resumed-session', calls: 1, waiting: 1, cwd: home }),
  )
  // A stand-in for the program, which says how it was started.
  const bin = join(home, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'claude'), `#!/bin/sh\necho "$@" >> ${home}/resumed.txt\n`)
  await chmod(join(bin, 'claude'), 0o755)
  const PATH = `${bin}:${process.env['PATH']}`
  await run(['resume', '--once'], { PATH })
  const resumed = () => fileOf('resumed.txt').catch(() => '')
  expect(await resumed()).toBe('')
  const { data } = await h.gql('{ approvals(first: 20) { nodes { id status arguments } } }')
  const { id } = data['approvals'].nodes.find((one: any) => one.arguments.session === 'resumed-session')
  await h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, '__typename')
  await run(['resume', '--once'], { PATH })
  expect(await resumed()).toBe('-p --resume resumed-session\n')
})
