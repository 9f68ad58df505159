/**
 * Coding agents from npm that ask here: each command appends a line, and the lines are counted. A gate that is open is seen: the
 * last test of each opens it.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { codingAgent } from '../../../support/peers.ts'
import { effectOf, openSession, type JudgedName, type Session } from './judged.ts'

const names: JudgedName[] = ['claude', 'codex', 'copilot', 'gemini', 'opencode']
const installed = names.filter((name) => codingAgent(name) !== null)

let h: Harness
beforeAll(async () => {
  if (installed.length > 0) h = await openHarness()
})
afterAll(async () => h?.stop())

/** What a gate must never be taken for. */
const wrongAnswers = {
  'an error of the server': (server: Server) =>
    server.on('request', (_, response) => response.writeHead(500).end('{}')),
  'a page of a proxy': (server: Server) =>
    server.on('request', (_, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    ),
  'a cut connection': (server: Server) => server.on('request', (request) => request.socket.destroy()),
}

async function useSession(
  name: JudgedName,
  given: Parameters<typeof openSession>[2],
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const session = await openSession(name, { url: h.url, adminKey }, given)
  try {
    await work(session)
    expect(session.place.sought).toEqual([])
  } finally {
    await session.close()
  }
}

/** The questions of the sessions that work in this place, oldest first. */
async function questionsIn({ place }: Session): Promise<any[]> {
  const { data } = await h.gql(
    '{ approvals(first: 100) { nodes { id status arguments toolCall { id status callerWaitsUntil } } } }',
  )
  return data['approvals'].nodes.filter((one: any) => one.arguments.cwd === place.work).toReversed()
}
async function asked(session: Session, count = 1): Promise<any> {
  await expect.poll(async () => (await questionsIn(session)).length).toBe(count)
  return (await questionsIn(session)).at(-1)
}
const decide = (id: string, verdict: string, more: object = {}) =>
  h.mutate('decideApproval', { approvalId: id, verdict, ...more }, '__typename')

describe.skipIf(installed.length === 0).for(installed)('%s', (name) => {
  const takesEdits = name !== 'copilot'
  const endsTurn = name !== 'copilot' && name !== 'codex'

  test('approved: once, and its report is the outcome', () =>
    useSession(name, {}, async (session) => {
      const program = session.start()
      await decide((await asked(session)).id, 'APPROVE')
      await program.ended
      expect(await session.lines()).toEqual(['line'])
      await expect.poll(async () => (await questionsIn(session))[0].toolCall.status).toBe('SUCCEEDED')
    }))

  test('rejected: never, and the model is told why', () =>
    useSession(name, {}, async (session) => {
      const program = session.start()
      await decide((await asked(session)).id, 'REJECT', { reason: 'not on a Friday' })
      await program.ended
      expect(await session.lines()).toEqual([])
      expect(JSON.stringify(session.model.requests.at(-1))).toContain('not on a Friday')
    }))

  test('rejected and stopped: the turn ends where the program can, and nothing else is asked or run', () =>
    useSession(name, { commands: [effectOf('a'), effectOf('b')] }, async (session) => {
      const program = session.start()
      await decide((await asked(session)).id, 'REJECT', { reason: 'not on a Friday', stop: true })
      await program.ended
      expect(await session.lines()).toEqual([])
      expect(await questionsIn(session)).toHaveLength(1)
      expect(session.model.requests).toHaveLength(endsTurn ? 1 : 3)
      if (!endsTurn) expect(JSON.stringify(session.model.requests[1])).toContain('told you to stop')
    }))

  test('edited: what was approved, or nothing', () =>
    useSession(name, {}, async (session) => {
      const program = session.start()
      const { id, arguments: given } = await asked(session)
      await decide(id, 'APPROVE', { arguments: { ...given, target: effectOf('edited') } })
      await program.ended
      expect(await session.lines()).toEqual(takesEdits ? ['edited'] : [])
      if (takesEdits)
        await expect.poll(async () => (await questionsIn(session))[0].toolCall.status).toBe('SUCCEEDED')
    }))

  test('nobody decides in time: never; killed while it waits, and approved late: never', () =>
    useSession(name, { options: ['--wait', '1'] }, async (session) => {
      await session.start().ended
      expect(await session.lines()).toEqual([])
      // A command asks again every few seconds, and outlives its agent by one of them.
      await session.rewrite((text) => text.replaceAll('wait=1', 'wait=15').replaceAll('+1))', '+600))'))
      const program = session.start()
      const { id } = await asked(session, 2)
      await program.kill()
      const waits = async () => Date.parse((await questionsIn(session)).at(-1).toolCall.callerWaitsUntil)
      await expect.poll(async () => (await waits()) < Date.now() - 1000).toBe(true)
      await decide(id, 'APPROVE')
      expect(await session.lines()).toEqual([])
      expect((await questionsIn(session)).at(-1).toolCall.status).toBe('APPROVED')
    }))

  test('a wrong key, a server that is away, and answers that are none: never', () =>
    useSession(name, { key: 'gh_nobody' }, async (session) => {
      await session.start().ended
      expect(await session.lines()).toEqual([])
      await session.rewrite((text) => text.replaceAll(h.url, 'http://127.0.0.1:1'))
      await session.start().ended
      expect(await session.lines()).toEqual([])
      for (const answer of Object.values(wrongAnswers)) {
        const server = createServer()
        answer(server)
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        await session.rewrite((text) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, url))
        await session.start().ended
        await new Promise((resolve) => server.close(resolve))
        expect(await session.lines()).toEqual([])
      }
    }))

  test('the same command twice: two questions; with a grant for the session: one', () =>
    useSession(name, { commands: [effectOf(), effectOf()] }, async (session) => {
      const program = session.start()
      await decide((await asked(session)).id, 'APPROVE')
      const second = await asked(session, 2)
      await decide(second.id, 'APPROVE')
      await program.ended
      expect(await session.lines()).toEqual(['line', 'line'])
      const again = session.start()
      const { id, arguments: given } = await asked(session, 3)
      const schema = { properties: { session: { const: given.session }, target: { const: given.target } } }
      const grant = { scope: 'SCHEMA', holder: 'CALLER', schema, expiresInSeconds: 600, maxUses: 10 }
      await decide(id, 'APPROVE', { grant })
      await again.ended
      expect(await session.lines()).toHaveLength(4)
      expect(await questionsIn(session)).toHaveLength(3)
    }))

  test('the judge sees an open gate', () =>
    useSession(name, {}, async (session) => {
      await session.rewrite((text) =>
        name === 'opencode' ? '' : JSON.stringify({ ...JSON.parse(text), hooks: {} }),
      )
      await session.start().ended
      expect(await session.lines()).toEqual(['line'])
      expect(await questionsIn(session)).toEqual([])
    }))
})

test.skipIf(!installed.includes('claude'))('claude asks the MCP tool approve as its permission prompt', () =>
  useSession('claude', {}, async (session) => {
    await session.rewrite((text) => JSON.stringify({ ...JSON.parse(text), hooks: {} }))
    const key = session.place.env['GATEHOUSE_CLAUDE_KEY']!
    const headers = { Authorization: `Bearer ${key}` }
    const servers = { mcpServers: { gatehouse: { type: 'http', url: `${h.url}/mcp`, headers } } }
    const prompt = [
      '--permission-prompt-tool',
      'mcp__gatehouse__approve',
      '--mcp-config',
      JSON.stringify(servers),
    ]
    const run = () => session.start(['-p', 'do it', '--output-format', 'json', ...prompt])
    const prompted = async (count: number): Promise<any> => {
      const read = async (): Promise<any[]> => {
        const { data } = await h.gql('{ approvals(first: 100) { nodes { id arguments } } }')
        return data['approvals'].nodes.filter((one: any) => one.arguments.session === undefined)
      }
      await expect.poll(async () => (await read()).length).toBe(count)
      return (await read())[0]
    }
    const approved = run()
    await decide((await prompted(1)).id, 'APPROVE')
    await approved.ended
    expect(await session.lines()).toEqual(['line'])
    const rejected = run()
    await decide((await prompted(2)).id, 'REJECT', { reason: 'once is enough' })
    await rejected.ended
    expect(await session.lines()).toEqual(['line'])
    expect(JSON.stringify(session.model.requests.at(-1))).toContain('once is enough')
    const [before, stopped] = [session.model.requests.length, run()]
    await decide((await prompted(3)).id, 'REJECT', { stop: true })
    await stopped.ended
    expect(await session.lines()).toEqual(['line'])
    expect(session.model.requests).toHaveLength(before + 1)
  }),
)
