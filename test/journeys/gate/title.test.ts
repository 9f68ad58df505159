/** The title of a gate: refused where it cannot be filled, frozen with the question, and the sentence of approvals. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'

const { h, fixtures, gate } = await useGateFixtures()

const titled = (title: string) => ({ autoApprove: false, title })
const issues = (refused: Record<string, any>) =>
  (refused['issues'] ?? []).map(({ path, message }: any) => `${path.join('.')} ${message}`)
const summaryOf = async (id: string): Promise<any> => {
  const { data } = await h.gql(
    'query($id: ID!) { approval(id: $id) { summary { text parts { text isValue } } } }',
    { id },
  )
  return data['approval'].summary
}

const schema = {
  ...objectSchema({
    amount: { type: 'number' },
    to: { type: 'string' },
    pin: { type: 'string', format: 'password' },
    card: { $ref: '#/$defs/card' },
  }),
  $defs: { card: { type: 'string', writeOnly: true } },
  allOf: [objectSchema({ iban: { type: 'string' } })],
}

describe('a title is refused', () => {
  const choice = 'it can name: amount, to, iban'
  test.each([
    ['{who}', `names "who", which is no argument of the tool; ${choice}`],
    ['{to.name}', `names "to.name", which is no argument of the tool; ${choice}`],
    ['{}', `names "", which is no argument of the tool; ${choice}`],
    ['{pin}', `names "pin", whose value is never shown; ${choice}`],
    ['{card}', `names "card", whose value is never shown; ${choice}`],
    ['Pay {amount', 'has a brace without its partner: write {name} where the value of an argument belongs'],
    ['Pay {a{mount}', 'has a brace without its partner: write {name} where the value of an argument belongs'],
    ['Pay amount}', 'has a brace without its partner: write {name} where the value of an argument belongs'],
    ['', 'must have at least 1 character'],
    ['x'.repeat(201), 'must have at most 200 characters'],
  ])('%j', async (title, message) => {
    const config = { http: { url: fixtures.upstream.url, inputSchema: schema } }
    const refused = await h.mutate('createTool', { name: 'bad', gate: titled(title), config }, 'tool { id }')
    expect(issues(refused)).toEqual([`input.gate.title ${message}`])
  })

  test('on an agent, and on a whole mcp or platform tool', async () => {
    const message = 'needs one input schema: set it on the gate of a single tool'
    const agent = await h.mutate('createAgent', { name: 'a', gate: titled('Pay') }, 'agent { id }')
    expect(issues(agent)).toEqual([`input.gate.title ${message}`])
    for (const config of [
      { mcp: { url: 'http://127.0.0.1:9/' } },
      { platform: { actions: ['start-generation'] } },
    ]) {
      const tool = await h.mutate('createTool', { name: 'bad', gate: titled('Pay'), config }, 'tool { id }')
      expect(issues(tool)).toEqual([`input.gate.title ${message}`])
    }
  })
})

test('a title is kept, returned, and the sentence of the approval, also after an edit', async () => {
  const tool = await gate.gated(titled('Pay {amount} to {to}'))
  const { data } = await h.gql('query($id: ID!) { tool(id: $id) { gate { title } } }', { id: tool.id })
  expect(data['tool']).toEqual({ gate: { title: 'Pay {amount} to {to}' } })
  const call = await gate.call(tool.id, { amount: 5, to: 'Ada', pin: '1234' })
  const { id } = call['approval']
  expect(await summaryOf(id)).toEqual({
    text: 'Pay 5 to Ada',
    parts: [
      { text: 'Pay ', isValue: false },
      { text: '5', isValue: true },
      { text: ' to ', isValue: false },
      { text: 'Ada', isValue: true },
    ],
  })
  await gate.decide(id, 'APPROVE', { arguments: { amount: 4, to: 'Ada', pin: '[masked]' } })
  expect((await summaryOf(id)).text).toBe('Pay 4 to Ada')
})

test('the sentence is frozen with the question: another title asks again, and the first keeps its own', async () => {
  const tool = await gate.gated(titled('Pay {amount}'))
  const asked = await gate.pending(await gate.ask(tool, { amount: 7 }))
  await h.mutate('updateTool', { id: tool.id, gate: titled('Send {amount}') }, 'tool { id }')
  expect((await summaryOf(asked[0]!['id'])).text).toBe('Pay 7')
})

test('gates without a title are stored and hashed as before', async () => {
  const tool = await gate.gated({ autoApprove: false, title: null })
  const [row] = await query<{ gate: object }>(
    h.app.services.db,
    sql`select definition->'gate' as gate from tools where id = ${tool.id}`,
  )
  expect(row!.gate).not.toHaveProperty('title')
  const approvals = await gate.pending(await gate.ask(tool))
  expect((await summaryOf(approvals[0]!['id'])).text).toBe(`${tool.name}: amount 5`)
})

describe('a single tool of an upstream', () => {
  let server: ModernServer
  beforeAll(async () => {
    server = await startModern()
    server.tools.set('pay', {
      tool: { name: 'pay', inputSchema: objectSchema({ sum: { type: 'number' }, pin: { writeOnly: true } }) },
      run: () => ({ content: [] }),
    })
  })
  afterAll(() => server?.kill())

  const withTitle = (title: string) => ({
    mcp: { url: server.url, gates: [{ action: 'pay', gate: titled(title) }] },
  })
  const ask = async (toolId: string) => {
    const call = await gate.call(toolId, { sum: 5, pin: 'secret' }, { action: 'pay' })
    return (await summaryOf(call['approval'].id)).text
  }

  test('has a title of its own, which is checked once the upstream is known', async () => {
    const made = await h.mutate('createTool', { name: 'bank', config: withTitle('Pay {sum}') }, 'tool { id }')
    const { id } = made['tool']
    expect(await ask(id)).toBe('Pay 5')
    const path = 'input.config.mcp.gates.0.gate.title'
    const refused = await h.mutate('updateTool', { id, config: withTitle('Pay {total}') }, 'tool { id }')
    expect(issues(refused)).toEqual([
      `${path} names "total", which is no argument of the tool; it can name: sum`,
    ])
    const actionGates = withTitle('Pay {pin}').mcp.gates
    const proposed = await h.mutate('proposeGateChange', { targetId: id, actionGates }, 'gateChange { id }')
    expect(issues(proposed)).toEqual([`${path} names "pin", whose value is never shown; it can name: sum`])
  })

  test('whose title names what the upstream has not is asked about with the default sentence', async () => {
    const config = withTitle('Pay {total} with {pin}')
    const { tool } = await h.mutate('createTool', { name: 'till', config }, 'tool { id }')
    expect(await ask(tool.id)).toBe('till_pay: sum 5')
    // What is there already keeps no other change from being saved.
    const update = await h.mutate('updateTool', { id: tool.id, description: 'A till.' }, 'tool { version }')
    expect(update['tool']).toEqual({ version: 2 })
  })
})
