/**
 * Arguments that a schema marks as writeOnly or as a password are sent to the tool, and shown nowhere: approvals,
 * calls, events, audit, logs.
 */
import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import type { Log } from '../../../src/core/log.ts'
import { query } from '../../../src/store/db/database.ts'
import { approvalFields, callFields, gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'

const logged: string[] = []
const keep = (fields: object, message: string) => void logged.push(JSON.stringify({ ...fields, message }))
const log: Log = { debug: keep, info: keep, warn: keep, error: keep }

const h = await forFile(openHarness({}, { log }))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

/** Part of every value that must not be visible. */
const secret = 'hunter2'

const inputSchema = {
  ...objectSchema({
    amount: { type: 'number' },
    pin: { type: 'string', writeOnly: true },
    password: { type: 'string', format: 'password' },
    token: { $ref: '#/$defs/token' },
    card: { $ref: '#/$defs/card' },
    key: { type: 'string', writeOnly: true },
  }),
  $defs: {
    token: { anyOf: [{ type: 'string', format: 'password' }, { type: 'null' }] },
    card: objectSchema({ number: { type: 'string', writeOnly: true }, holder: { type: 'string' } }),
  },
}
const args = {
  amount: 5,
  pin: `${secret}-pin`,
  password: `${secret}-password`,
  token: `${secret}-token`,
  card: { number: `${secret}-number`, holder: 'Ada' },
}
const shown = {
  amount: 5,
  pin: '[masked]',
  password: '[masked]',
  token: '[masked]',
  card: { number: '[masked]', holder: 'Ada' },
}

let made = 0
function furnished(): Promise<{ id: string; name: string }> {
  const config = { http: { url: `${fixtures.upstream.url}/pay_${++made}`, inputSchema } }
  return gate.gated({ autoApprove: false }, { config, presetParameters: { key: `${secret}-preset` } })
}

/** Everything that a user can read of approvals, calls, runs, events and audit entries, as text. */
async function everything(): Promise<string> {
  const { data, errors } = await h.gql(`{
    approvals(first: 20) { nodes { ${approvalFields} } }
    toolCalls(first: 20) { nodes { ${callFields} rawArguments } }
    generations(first: 10) { nodes { output { text object } steps { text reasoning notice }
      events(first: 50) { nodes { type ... on ApprovalRequestedEvent { approval { arguments } }
        ... on MessageCommittedEvent { step { text } } } } } }
    auditEntries(first: 100) { nodes { action details } }
    grants { nodes { toolName schema } } }`)
  expect(errors).toBeUndefined()
  return JSON.stringify(data)
}

afterEach(async () => {
  expect(await everything()).not.toContain(secret)
  const rows = await query(h.app.services.db, sql`select data::text as text from events`)
  expect(rows.length).toBeGreaterThan(3)
  expect(JSON.stringify(rows)).not.toContain(secret)
  expect(logged.join('\n')).not.toContain(secret)
})

test('a direct call is asked about and shown masked, and runs with the real values', async () => {
  const { id, name } = await furnished()
  const call = await gate.call(id, args)
  expect(call['arguments']).toEqual(shown)
  const approval = await gate.approval(call['approval'].id)
  expect(approval['arguments']).toEqual({ ...shown, key: '[masked]' })
  await gate.decide(approval['id'], 'APPROVE')
  const done = await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(done['arguments']).toEqual(shown)
  expect(gate.paid(name).map((one) => one.body)).toEqual([{ ...args, key: `${secret}-preset` }])
})

test('a call of a model is masked too, also on the feed of the reviewers', async () => {
  const tool = await furnished()
  const id = await gate.ask(tool, args)
  const [approval] = await gate.pending(id)
  expect(approval).toMatchObject({
    arguments: { ...shown, key: '[masked]' },
    originalArguments: { ...shown, key: '[masked]' },
  })
  const told = await gate.feed(
    ['APPROVAL_REQUESTED'],
    `... on ApprovalRequestedEvent { approval { id arguments } toolCall { arguments } }`,
    (events) => events.some((event) => event['approval'].id === approval!['id']),
  )
  expect(JSON.stringify(told)).not.toContain(secret)
  await gate.decide(approval!['id'], 'REJECT', { reason: 'no' })
  const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
  expect(end['toolCalls'][0].arguments).toEqual(shown)
})

test("an approver's arguments are masked as well", async () => {
  const { id, name } = await furnished()
  const call = await gate.call(id, args)
  const edited = { amount: 1, pin: `${secret}-edited` }
  const decided = await gate.decide(call['approval'].id, 'APPROVE', { arguments: edited })
  expect(decided['approval'].arguments).toEqual({ amount: 1, pin: '[masked]', key: '[masked]' })
  const done = await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(done['arguments']).toEqual({ amount: 1, pin: '[masked]' })
  expect(gate.paid(name).map((one) => one.body)).toEqual([{ ...edited, key: `${secret}-preset` }])
})

test('invalid arguments of a model are not shown in raw form', async () => {
  const tool = await furnished()
  const id = await gate.ask(tool, { ...args, amount: 'seven' })
  const end = await h.until(id, ['COMPLETED'], 'toolCalls { status arguments rawArguments errorCode }')
  expect(end['toolCalls']).toMatchObject([{ status: 'INVALID', arguments: null }])
  expect(JSON.parse(end['toolCalls'][0].rawArguments)).toEqual({ ...shown, amount: 'seven' })
})

test('invalid arguments of a caller or an approver are not repeated in the error', async () => {
  const { id } = await furnished()
  const { approval } = await gate.call(id, args)
  const faulty = { ...args, pin: 7, amount: `${secret}-amount`, card: `${secret}-card` }
  const answers = [
    await gate.call(id, faulty),
    await gate.decide(approval.id, 'APPROVE', { arguments: faulty }),
    await h.gql(
      'query($id: ID!, $args: JSONObject) { evaluateGate(toolId: $id, arguments: $args) { stops } }',
      {
        id,
        args: faulty,
      },
    ),
  ]
  expect(answers[0]).toMatchObject({ __typename: 'ValidationError' })
  expect(JSON.stringify(answers)).not.toContain(secret)
})

test('a preset is masked in the approval, and an edit cannot reveal it', async () => {
  const { id, name } = await furnished()
  const call = await gate.call(id, {})
  expect(await gate.approval(call['approval'].id)).toMatchObject({ arguments: { key: '[masked]' } })
  await gate.decide(call['approval'].id, 'APPROVE', { arguments: { amount: 2, key: 'mine' } })
  expect(await gate.untilCall(call['id'], ['SUCCEEDED'])).toMatchObject({ arguments: { amount: 2 } })
  expect(gate.paid(name).map((one) => one.body)).toEqual([{ amount: 2, key: `${secret}-preset` }])
})
