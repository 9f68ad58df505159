/** The built command line against a real server: what it prints, what it asks, and how it ends. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { buildServer } from '../support/build.ts'
import { embeddedDatabase } from '../support/databases.ts'
import { adminKey } from '../support/harness.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'
import { command, finished, terminal } from './command.ts'
import { forFile } from '../support/for-file.ts'

const shop = await forFile(openShop({ isDestructive: true }))
const env: Record<string, string> = { GATEHOUSE_URL: shop.h.url, GATEHOUSE_KEY: adminKey }
const folder = await mkdtemp(join(tmpdir(), 'gatehouse-cli-'))
afterAll(async () => {
  await rm(folder, { recursive: true })
})

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('a word where only options stand is named, with the option that was meant', async () => {
  for (const name of ['approvals', 'pause'])
    expect((await finished([name, 'list'])).err).toContain('Unexpected argument "list"; did you mean --list?')
  expect((await finished(['open', 'x'])).err).toContain('Unexpected argument "x".')
})

test('every command has its help, and a wrong command line ends with 2', async () => {
  for (const name of ['start', 'demo', 'run', 'approvals', 'pause', 'resume', 'keys', 'connect']) {
    const { code, out } = await finished([name, '--help'])
    expect(code).toBe(0)
    expect(out).toContain(`gatehouse ${name}`)
    expect((await finished(['--help'])).out).toContain(`  ${name} `)
  }
  for (const args of [
    [],
    ['nothing'],
    ['keys'],
    ['resume'],
    ['pause', 'x'],
    ['pause'],
    ['pause', '--reason', 'all'],
    ['run', 'demo'],
    ['keys', 'list', '--nonsense'],
    ['start', 'x'],
    ['connect', 'files'],
  ])
    expect((await finished(args, env)).code, args.join(' ')).toBe(2)
})

test('--version says the release, and completion prints what shells understand', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  expect(await finished(['--version'])).toMatchObject({ code: 0, out: `${version}\n` })
  const { out: script } = await finished(['completion', 'bash'])
  const completed = (...words: string[]) => {
    const line = `${script}\nCOMP_WORDS=(gatehouse ${words.map((word) => `'${word}'`).join(' ')})
      COMP_CWORD=${words.length}; _gatehouse; echo "\${COMPREPLY[*]}"`
    return execFileSync('bash', ['-c', line], { encoding: 'utf8' }).trim()
  }
  expect(completed('appr')).toBe('approvals')
  expect(completed('tools', '')).toMatch(/^list get import --/)
  expect(completed('keys', '--ro')).toBe('--role')
  expect((await finished(['completion', 'zsh'])).out).toContain('compdef _gatehouse gatehouse')
  expect((await finished(['completion', 'fish'])).out).toContain('complete -c gatehouse')
  expect((await finished(['completion', 'cmd'])).code).toBe(2)
})

test('tools, agents, runs and webhooks are listed and shown', async () => {
  for (const name of ['tools', 'agents', 'runs', 'webhooks'])
    expect((await finished([name, 'list'], env)).code, name).toBe(0)
  const listed = lines((await finished(['tools', 'list', '--json'], env)).out)
  const tool = listed.find(({ name }) => name === 'send_refund')
  expect((await finished(['tools', 'list'], env)).out).toMatch(
    new RegExp(`${tool.id}  send_refund +HttpTool`),
  )
  const shown = JSON.parse((await finished(['tools', 'get', tool.id], env)).out)
  expect(shown).toMatchObject({ id: tool.id, inputSchema: { type: 'object' } })
  const [agent] = lines((await finished(['agents', 'get', shop.agentId, '--json'], env)).out)
  expect(agent).toMatchObject({ id: shop.agentId })
  expect((await finished(['runs', 'get', 'gen_01234567890123456789012345'], env)).code).toBe(1)
  expect((await finished(['webhooks'], env)).code).toBe(2)
})

test('a server.json is imported, and each fault of it is said', async () => {
  const file = join(folder, 'server.json')
  const server = {
    name: 'com.example/notes',
    description: 'Notes',
    version: '1.0.0',
    remotes: [
      {
        type: 'streamable-http',
        url: 'http://127.0.0.1:1/mcp',
        headers: [{ name: 'X-Team', isRequired: true }],
      },
    ],
  }
  await writeFile(file, JSON.stringify(server))
  const importing = (...more: string[]) => finished(['tools', 'import', file, ...more], env)
  const refused = await importing('--values', '{"other":"x"}')
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('input.values.X-Team: is required')
  expect(refused.err).toContain('input.values.other: is not asked for')
  const values = '{"X-Team":"a"}'
  const [{ tool }] = lines((await importing('--values', values, '--json')).out)
  expect(tool).toMatchObject({ name: 'notes', upstream: { status: 'UNREACHABLE', tools: [] } })
  await writeFile(file, JSON.stringify({ ...server, version: '1.1.0' }))
  expect((await importing('--values', values)).err).toContain('replace: true')
  const replaced = await importing('--values', values, '--replace')
  expect(replaced).toMatchObject({ code: 0, out: '' })
  expect(replaced.err).toContain('/registryEntry/version: "1.0.0" -> "1.1.0"')
  await writeFile(file, '{')
  expect((await importing()).code).toBe(2)
  for (const args of [['import'], ['import', join(folder, 'none')], ['list', '--replace']])
    expect((await finished(['tools', ...args], env)).code, args.join(' ')).toBe(2)
})

test('a key is not taken from the command line, and its absence is said', async () => {
  const given = await finished(['keys', 'list', '--key', adminKey], { GATEHOUSE_URL: shop.h.url })
  expect(given.code).toBe(2)
  expect(given.err).toContain('GATEHOUSE_KEY or --key-file')
  expect(given.err + given.out).not.toContain(adminKey)
  expect((await finished(['keys', 'list'], { GATEHOUSE_URL: shop.h.url })).code).toBe(4)
})

test('a key file is read, and one that others can read is told of', async () => {
  const file = join(folder, 'key')
  await writeFile(file, `${adminKey}\n`, { mode: 0o600 })
  const quiet = await finished(['keys', 'list', '--key-file', file, '--url', shop.h.url])
  expect(quiet).toMatchObject({ code: 0, err: '' })
  await chmod(file, 0o644)
  const told = await finished(['keys', 'list', '--key-file', file, '--url', shop.h.url])
  expect(told.code).toBe(0)
  expect(told.err).toContain(`chmod 600 ${file}`)
  expect((await finished(['keys', 'list', '--key-file', join(folder, 'none')])).code).toBe(2)
})

test('a server that is away ends with 3, a key that is wrong with 4', async () => {
  const away = { ...env, GATEHOUSE_URL: 'http://127.0.0.1:9' }
  expect((await finished(['keys', 'list'], away)).code).toBe(3)
  expect((await finished(['approvals'], away)).code).toBe(3)
  const wrong = { ...env, GATEHOUSE_KEY: `gh_${'x'.repeat(43)}` }
  for (const args of [['keys', 'list'], ['approvals'], ['run', shop.agentId, 'say hello']])
    expect((await finished(args, wrong)).code, args[0]).toBe(4)
})

test('open prints a link that signs one browser in; the link alone is on the standard output', async () => {
  const made = await finished(['open'], env)
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^http\S+gho_[\w-]{43}\n$/) })
  expect(made.err).toContain('once, until')
  expect((await fetch(made.out.trim(), { redirect: 'manual' })).status).toBe(303)
  const [link] = lines((await finished(['open', '--json'], env)).out)
  expect((await fetch(link.url, { redirect: 'manual' })).status).toBe(303)
  expect((await finished(['open', 'it'], env)).code).toBe(2)
  expect((await finished(['open'], { ...env, GATEHOUSE_URL: 'http://127.0.0.1:9' })).code).toBe(3)
  expect((await finished(['open'], { ...env, GATEHOUSE_KEY: `gh_${'x'.repeat(43)}` })).code).toBe(4)
})

test('keys are created, listed and revoked; the new key alone is on the standard output', async () => {
  const made = await finished(['keys', 'create', 'a \u001b[31mred\u001b[0m name', '--role', 'viewer'], env)
  expect(made.code).toBe(0)
  expect(made.out).toMatch(/^gh_\S+\n$/)
  expect(made.err).toContain('a \\u001b[31mred')
  expect(made.err).not.toContain('\u001b')
  const listed = lines((await finished(['keys', 'list', '--json'], env)).out)
  const row = listed.find(({ role }) => role === 'VIEWER')
  expect(row.revokedAt).toBeNull()
  const viewer = { ...env, GATEHOUSE_KEY: made.out.trim() }
  expect((await finished(['keys', 'create', 'more'], viewer)).code).toBe(4)
  expect((await finished(['keys', 'revoke', row.id], env)).code).toBe(0)
  const bound = await finished(['keys', 'create', 'bound', '--agent', shop.agentId, '--json'], env)
  expect(bound.code, bound.err).toBe(0)
  const { out } = await finished(['keys', 'list'], env)
  expect(out).toMatch(/VIEWER +revoked +a \\u001b\[31mred/)
  expect((await finished(['keys', 'list'], viewer)).code).toBe(4)
  expect((await finished(['keys', 'revoke', 'key_01234567890123456789012345'], env)).code).toBe(1)
})

test('the own key, and the last one of an admin, are revoked only by who says --yes', async () => {
  const { project } = await shop.h.mutate('createProject', { name: 'alone' }, 'project { id }')
  const input = { name: 'me', role: 'ADMIN', projectId: project.id }
  const { secret, apiKey } = await shop.h.mutate('createApiKey', input, 'secret apiKey { id }')
  const mine = { ...env, GATEHOUSE_KEY: secret as string }
  const told = await finished(['keys', 'revoke', apiKey.id], mine)
  expect(told.code).toBe(1)
  for (const words of ['the key of this command', 'No other key of an admin', '--yes'])
    expect(told.err).toContain(words)
  expect((await finished(['keys', 'list'], mine)).code).toBe(0)
  expect((await finished(['keys', 'revoke', apiKey.id, '--yes'], mine)).code).toBe(0)
  expect((await finished(['keys', 'list'], mine)).code).toBe(4)
})

test('pause stops a tool and says how to go on, pause --list shows it, and resume ends it', async () => {
  const { data } = await shop.h.gql('{ tools(first: 1) { nodes { id } } }')
  const toolId = data['tools'].nodes[0].id as string
  const made = await finished(['pause', '--tool', toolId, '--reason', 'an incident', '--json'], env)
  expect(made.code).toBe(0)
  const [pause] = lines(made.out)
  expect(pause).toMatchObject({ kind: 'TOOL', targetId: toolId, reason: 'an incident', endedAt: null })
  expect((await finished(['pause', '--list'], env)).out).toContain(`${pause.id}  tool  ${toolId}`)
  const ended = await finished(['resume', pause.id], env)
  expect(ended).toMatchObject({ code: 0, err: `tool ${toolId} goes on.\n` })
  expect((await finished(['pause', '--list'], env)).out.trim()).toBe('')
  const all = lines((await finished(['pause', '--project', 'own', '--json'], env)).out)
  expect(all).toMatchObject([{ kind: 'PROJECT', endedAt: null }])
  expect((await finished(['resume', all[0].id], env)).code).toBe(0)
  expect((await finished(['resume', 'pse_0'], env)).code).toBe(1)
})

test('run prints the text of the model and nothing else on the standard output, without control sequences', async () => {
  const { code, out, err } = await finished(
    ['run', 'shop assistant', 'slow 5ms\nsay first \u001b]0;title\u0007 \u009b31m \u202e line 🦊🦊'],
    env,
  )
  expect(code).toBe(0)
  expect(out).toBe('first \\u001b]0;title\\u0007 \\u009b31m \\u202e line 🦊🦊\n')
  expect(err).toMatch(/^gen_\S+\n$/)
  const json = lines((await finished(['run', shop.agentId, 'say hello', '--json'], env)).out)
  expect(json[0].type).toBe('GENERATION_QUEUED')
  expect(json.at(-1)).toMatchObject({ status: 'COMPLETED', output: { text: 'hello' } })
  const failed = await finished(['run', shop.agentId, 'fail 400'], env)
  expect(failed.code).toBe(1)
  expect(failed.err).toContain('FAILED')
})

const refund = (order: string, more: object = {}) =>
  `call send_refund ${JSON.stringify({ order_id: order, amount: 250, ...more })}\nthen\nsay over`

test('run asks about a call that waits: approving a destructive tool takes its name as well', async () => {
  const running = await command(
    ['run', shop.agentId, refund('A-1', { note: 'x\u001b[2J\n"y' }), '--ask'],
    env,
  )
  await running.until('[a/r/s]')
  expect(running.err()).toContain('send_refund')
  expect(running.err()).toContain('"note": "x\\u001b[2J\\n\\"y"')
  expect(running.err()).toContain('marked as destructive')
  const before = shop.till.seen.length
  running.type('a')
  await running.until('Type send_refund')
  expect(shop.till.seen.length).toBe(before)
  running.type('send_refund')
  expect(await running.ended).toBe(0)
  expect(running.out()).toBe('over\n')
  expect(shop.till.seen.length).toBe(before + 1)
  expect(running.err()).not.toContain('\u001b')
})

test('run does not ask when nobody is there, and an interrupt leaves the generation alone', async () => {
  const running = await command(['run', shop.agentId, refund('A-2')], env)
  await running.until('gatehouse approvals')
  expect(running.err()).not.toContain('[a/r/s]')
  const id = /gen_\S+/.exec(running.err())![0]
  running.signal('SIGINT')
  expect(await running.ended).toBe(130)
  expect(running.err()).toContain(`The run goes on without this command: ${id}`)
  const generation = await shop.h.until(id, ['AWAITING_APPROVAL'])
  expect(generation['status']).toBe('AWAITING_APPROVAL')
  await shop.settle()
})

test('approvals shows what waits and what comes, and gives verdicts that were typed', async () => {
  const first = await shop.ask('B-1')
  const listed = lines((await finished(['approvals', '--list', '--json'], env)).out)
  expect(listed.map(({ id }) => id)).toEqual([first.approvalId])
  const running = await command(['approvals', '--ask'], env)
  await running.until('B-1')
  await running.until('[a/r/s]')
  running.type('a')
  await running.until('Type send_refund')
  // The wrong name approves nothing.
  running.type('yes')
  await running.until('Not approved.')
  expect((await shop.approval(first.approvalId))['status']).toBe('PENDING')
  const second = await shop.ask('B-2')
  await running.until('B-2')
  running.type('r')
  await running.until('Reason')
  running.type('the customer kept it')
  await running.until('Now REJECTED')
  expect(await shop.approval(second.approvalId)).toMatchObject({
    status: 'REJECTED',
    votes: [{ verdict: 'REJECT', reason: 'the customer kept it' }],
  })
  running.endInput()
  expect(await running.ended).toBe(0)
  await shop.settle()
})

test('an answer that is no verdict is told of: the call still waits', async () => {
  const { approvalId } = await shop.ask('B-3')
  const running = await command(['approvals', '--ask'], env)
  await running.until('[a/r/s]')
  running.type('yes')
  running.endInput()
  expect(await running.ended).toBe(0)
  expect(running.err()).toContain(`Skipped: it still waits.  ${approvalId}`)
  expect((await shop.approval(approvalId))['status']).toBe('PENDING')
  await shop.settle()
})

test('a question that somebody else settles is not asked any more', async () => {
  const { approvalId } = await shop.ask('C-1')
  const running = await command(['approvals', '--ask'], env)
  await running.until('[a/r/s]')
  await shop.h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
  await running.until('send_refund is REJECTED')
  const next = await shop.ask('C-2')
  await running.until('C-2')
  // Had the first question still been open, this would have been its answer.
  running.type('r')
  await running.until('Reason')
  running.type('')
  await running.until(new RegExp(`Now REJECTED\\..*${next.approvalId}`))
  running.signal('SIGINT')
  expect(await running.ended).toBe(130)
})

test('what is typed at a terminal while a question is settled elsewhere is no answer to the next one', async () => {
  const first = await shop.ask('C-3')
  const running = await terminal(['approvals'], env)
  if (!running) return console.warn('There is no terminal for this test: it is skipped.')
  await running.until('[a/r/s]')
  running.write('r')
  await shop.h.mutate(
    'decideApproval',
    { approvalId: first.approvalId, verdict: 'REJECT' },
    'approval { id }',
  )
  await running.until('send_refund is REJECTED')
  const next = await shop.ask('C-4')
  await running.until(/Enter leads to this one\.|(?:\[a\/r\/s\][^]*){2}/)
  // The end of the answer to the question that was there when it was begun.
  running.write('\n')
  await running.until(/Reason|Enter leads[^]*\[a\/r\/s\]/)
  expect(running.out()).not.toContain('Reason')
  running.type('r')
  await running.until('Reason')
  running.type('')
  await running.until(new RegExp(`Now REJECTED\\..*${next.approvalId}`))
  running.write('\u0003')
  expect(await running.ended).toBe(130)
})

/** An agent with the refund and a client tool: that tool waits for a program after every question of its step was asked. */
const withPage = async ({ h, refundId }: Shop) => {
  const config = { client: { inputSchema: { type: 'object' } } }
  const { tool } = await h.mutate('createTool', { name: 'ask_page', config }, 'tool { id }')
  const input = { name: 'with a page', toolIds: [refundId, tool.id] }
  const { agent } = await h.mutate('createAgent', input, 'agent { id }')
  return agent.id as string
}
const call = (order: string) => refund(order).split('\n')[0]
const page = 'call ask_page {}\nthen\nsay over'

test('run shows one question at a time, above the line that asks about it', async () => {
  const agentId = await withPage(shop)
  const running = await command(['run', agentId, `${call('E-1')}\n${call('E-2')}\n${page}`, '--ask'], env)
  await running.until('ask_page waits for the program')
  for (let answered = 0; answered < 2; answered++) {
    await running.until(new RegExp(`(?:\\[a/r/s\\] [^]*){${answered + 1}}`))
    const shown = running
      .err()
      .match(/apr_\w+/g)!
      .at(-1)!
    running.type('r')
    await running.until(new RegExp(`(?:Reason[^]*){${answered + 1}}`))
    running.type('')
    await running.until(new RegExp(`(?:Now REJECTED[^]*){${answered + 1}}`))
    expect((await shop.approval(shown))['status']).toBe('REJECTED')
  }
  running.signal('SIGINT')
  expect(await running.ended).toBe(130)
})

test('run goes on asking when somebody else has voted and more votes are needed', async () => {
  const two = await openShop({ gate: { quorum: 2 } })
  try {
    const [ann, agentId] = [await two.person('Ann'), await withPage(two)]
    const own = { GATEHOUSE_URL: two.h.url, GATEHOUSE_KEY: adminKey }
    const running = await command(['run', agentId, `${call('F-1')}\n${page}`, '--ask'], own)
    await running.until('ask_page waits for the program')
    await running.until('[a/r/s]')
    const [approvalId] = /apr_\w+/.exec(running.err())!
    const [generationId] = /gen_\w+/.exec(running.err())!
    await two.h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }', ann.secret)
    const query = 'query($id: ID!) { generation(id: $id) { requiredAction { toolCalls { id } } } }'
    const { data } = await two.h.gql(query, { id: generationId })
    const [toolCall] = data['generation'].requiredAction.toolCalls
    const outputs = [{ toolCallId: toolCall.id, output: 'done' }]
    await two.h.mutate('submitToolOutputs', { generationId, outputs }, 'outcomes { status }')
    // The vote came before it.
    await running.until('ask_page: SUCCEEDED')
    running.type('a')
    expect(await running.ended).toBe(0)
    expect(two.till.seen).toHaveLength(1)
  } finally {
    await two.settle()
    await two.close()
  }
})

test('a result that cannot be written is no success', async () => {
  if (!existsSync('/dev/full')) return
  const { command: program } = await buildServer()
  const full = promisify(execFile)(
    '/bin/sh',
    ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, program, 'keys', 'create', 'lost'],
    { env: { PATH: process.env['PATH']!, ...env } },
  )
  await expect(full).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') })
})

test('approvals --json writes every change as one line', async () => {
  const running = await command(['approvals', '--json'], env)
  const { approvalId } = await shop.ask('D-1')
  await running.until('"PENDING"')
  await shop.h.mutate('decideApproval', { approvalId, verdict: 'REJECT' }, 'approval { id }')
  await running.until('"REJECTED"')
  expect(lines(running.out()).map(({ id, status }) => [id, status])).toEqual([
    [approvalId, 'PENDING'],
    [approvalId, 'REJECTED'],
  ])
  running.signal('SIGINT')
  expect(await running.ended).toBe(130)
})

test('start starts the server, also in a shell with the settings of the command line', async () => {
  await embeddedDatabase(join(folder, 'data'))
  const running = await command(['start'], {
    ...env,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_DATA_DIR: join(folder, 'data'),
    GATEHOUSE_LOG_LEVEL: 'silent',
  })
  await running.until('Gatehouse is running.')
  running.signal('SIGTERM')
  expect(await running.ended).toBe(0)
})
