/** Masked values cannot be found out by queries, and a mask that is sent back means "unchanged". */
import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { canonicalJson, hashJson, type JsonObject, readJson } from '../../src/core/json.ts'
import { query } from '../../src/store/db/database.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

const hidden = { type: 'string', writeOnly: true }
const cards = { type: 'array', items: objectSchema({ number: hidden, holder: { type: 'string' } }) }
const schema = objectSchema({ amount: { type: 'number' }, pin: hidden, cards })
const args = {
  amount: 5,
  pin: '4711',
  cards: [
    { number: 'n-1', holder: 'A' },
    { number: 'n-2', holder: 'B' },
  ],
}

let made = 0
async function asked(): Promise<{ name: string; toolId: string; approval: Record<string, any> }> {
  const name = `hide_${++made}`
  const config = { http: { url: `${fixtures.upstream.url}/${name}`, inputSchema: schema } }
  const { tool } = await h.mutate('createTool', { name, gate: { autoApprove: false }, config }, 'tool { id }')
  const call = await gate.call(tool.id, args)
  const { data } = await h.gql(`query($id: ID!) { toolCall(id: $id) { approval { id digest arguments } } }`, {
    id: call['id'],
  })
  return { name, toolId: tool.id, approval: data['toolCall'].approval }
}
const ran = (name: string) => gate.paid(name).map((one) => one.body)

test('an edit that sends the masks back runs with the original values', async () => {
  const { name, approval } = await asked()
  const shown = approval['arguments']
  expect(shown).toMatchObject({ pin: '[masked]', cards: [{ number: '[masked]' }, { number: '[masked]' }] })
  const decided = await gate.decide(approval['id'], 'APPROVE', { arguments: { ...shown, amount: 7 } })
  expect(decided['__typename']).toBe('ApprovalPayload')
  expect(JSON.stringify(decided)).not.toMatch(/4711|n-1|n-2/)
  await expect.poll(() => ran(name)).toEqual([{ ...args, amount: 7 }])
})

test('a mask whose meaning is ambiguous is refused with its path, and the approval stays pending', async () => {
  const { name, approval } = await asked()
  const shown = approval['arguments']
  const moved = { ...shown, cards: [shown.cards[1], shown.cards[0]] }
  const shorter = { ...shown, cards: [shown.cards[1]] }
  for (const edited of [moved, shorter]) {
    const refused = await gate.decide(approval['id'], 'APPROVE', { arguments: edited })
    expect(refused).toMatchObject({
      __typename: 'ValidationError',
      issues: expect.arrayContaining([
        {
          path: ['input', 'arguments', 'cards', '0', 'number'],
          message: expect.stringContaining('send the value'),
        },
      ]),
    })
  }
  const unasked = { ...shown, cards: [...shown.cards, { number: '[masked]', holder: 'C' }] }
  expect(await gate.decide(approval['id'], 'APPROVE', { arguments: unasked })).toMatchObject({
    __typename: 'ValidationError',
  })
  const whole = { ...shown, cards: [{ number: 'n-3', holder: 'C' }] }
  await gate.decide(approval['id'], 'APPROVE', { arguments: whole })
  await expect.poll(() => ran(name)).toEqual([{ ...args, cards: whole.cards }])
})

test('a digest does not reveal which PIN it was made over', async () => {
  const { approval } = await asked()
  const [row] = await query<{
    tool: string
    version: number
    by: string
    requirement: object
    digest: string
  }>(
    h.app.services.db,
    sql`select tool_id as tool, tool_version as version, requested_by as by, requirement, digest from approvals
      where id = ${approval['id']}`,
  )
  expect(row!.digest).toBe(approval['digest'])
  const { tool: toolId, version: toolVersion, by: requestedBy, requirement } = row!
  const facts = { toolId, toolVersion, arguments: args, requestedBy, requirement }
  const known = row!.digest.replace(/^h1\./, '')
  expect(hashJson(facts)).not.toBe(known)
  for (const encoding of ['hex', 'base64', 'base64url'] as const)
    expect(
      createHash('sha256')
        .update(canonicalJson([canonicalJson(facts)]))
        .digest(encoding),
    ).not.toBe(known)
})

test('a draft gate reveals nothing about a masked argument, however often it is evaluated', async () => {
  const { name, toolId, approval } = await asked()
  await gate.decide(approval['id'], 'APPROVE')
  await expect.poll(() => ran(name)).toHaveLength(1)
  const stopped = async (pin: object) => {
    const draft = { when: { properties: { pin }, required: ['pin'] } }
    const { data } = await h.gql(
      'query($id: ID!, $gate: GateInput!) { previewGate(toolId: $id, gate: $gate) { replayed stopped } }',
      { id: toolId, gate: draft },
    )
    return data['previewGate']
  }
  expect(await stopped({ type: 'string' })).toEqual({ replayed: 1, stopped: 1 })
  expect(await stopped({ const: '4711' })).toEqual({ replayed: 1, stopped: 0 })
  expect(await stopped({ pattern: '^4' })).toEqual({ replayed: 1, stopped: 0 })
})

test('a path of other arguments leads to nothing that objects or numbers inherit', async () => {
  const name = `hide_${++made}`
  const names = Object.fromEntries(['keys', 'toString', 'digits', 'length'].map((one) => [one, hidden]))
  const config = {
    http: { url: `${fixtures.upstream.url}/${name}`, inputSchema: { type: 'object', properties: names } },
  }
  const { tool } = await h.mutate('createTool', { name, gate: { autoApprove: false }, config }, 'tool { id }')
  const [keys, asText] = [Object.keys, Object.getOwnPropertyDescriptor(Object.prototype, 'toString')!]
  const odd =
    '{"constructor":{"keys":"k-1"},"__proto__":{"toString":"t-1"},"n":{"digits":"d-1"},"l":{"length":"l-1"}}'
  const edit = '{"n":2512292042121000001,"l":[1]}'
  const question = 'query($id: ID!) { toolCall(id: $id) { approval { id digest } } }'
  try {
    const call = await gate.call(tool.id, readJson(odd) as JsonObject)
    const { data } = await h.gql(question, { id: call['id'] })
    const { id, digest } = data['toolCall'].approval
    const decide = `mutation { decideApproval(input: {approvalId: "${id}", verdict: APPROVE,
      expectedDigest: "${digest}", arguments: {n: 2512292042121000001, l: [1]}}) { __typename } }`
    expect(JSON.stringify(await h.gql(decide))).toContain('ApprovalPayload')
    await expect.poll(() => fixtures.upstream.seen.at(-1)?.body).toBe(edit)
    expect([Object.keys, Object.getOwnPropertyDescriptor(Object.prototype, 'toString')]).toEqual([
      keys,
      asText,
    ])
  } finally {
    Object.keys = keys
    Object.defineProperty(Object.getPrototypeOf({}) as object, 'toString', asText)
  }
})
