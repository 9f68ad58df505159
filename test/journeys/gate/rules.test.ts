/** What a gate may contain, which calls it stops, and that the stricter of tool and agent applies. */
import { describe, expect, test } from 'vitest'
import { useGateFixtures } from '../../support/gate-fixtures.ts'
import { objectSchema } from '../../support/fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const policy = `gate { autoApprove mode when timeoutSeconds quorum excludeRequester approvers escalateAfterSeconds source }`
const schema = objectSchema({ amount: { type: 'number' } })
const over100 = { type: 'object', properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] }
const week = 7 * 24 * 60 * 60

async function saved(input: object): Promise<Record<string, any>> {
  const tool = await gate.gated(null)
  const { tool: changed, ...refused } = await h.mutate(
    'updateTool',
    { id: tool.id, ...input },
    `tool { ${policy} }`,
  )
  return changed?.gate ?? refused
}

describe('the fields of a gate', () => {
  const plain = {
    timeoutSeconds: 300,
    quorum: 1,
    excludeRequester: false,
    approvers: [],
    escalateAfterSeconds: null,
    when: null,
  }
  test.each([
    [null, { ...plain, autoApprove: true, mode: 'NEVER', source: 'DEFAULT' }],
    [{}, { ...plain, autoApprove: false, mode: 'ALWAYS', source: 'OPERATOR' }],
    [{ autoApprove: false }, { ...plain, autoApprove: false, mode: 'ALWAYS', source: 'OPERATOR' }],
    [{ autoApprove: true }, { ...plain, autoApprove: true, mode: 'NEVER', source: 'OPERATOR' }],
    [{ mode: 'NEVER' }, { ...plain, autoApprove: true, mode: 'NEVER', source: 'OPERATOR' }],
    [{ when: over100 }, { ...plain, autoApprove: false, mode: 'WHEN', when: over100, source: 'OPERATOR' }],
    [
      { autoApprove: false, when: over100 },
      { ...plain, autoApprove: false, mode: 'WHEN', when: over100, source: 'OPERATOR' },
    ],
    [
      {
        timeoutSeconds: week,
        quorum: 10,
        excludeRequester: true,
        approvers: ['ADMIN', 'ADMIN'],
        escalateAfterSeconds: 1,
      },
      {
        timeoutSeconds: week,
        quorum: 10,
        excludeRequester: true,
        approvers: ['ADMIN'],
        escalateAfterSeconds: 1,
        mode: 'ALWAYS',
      },
    ],
    [{ timeoutSeconds: 5 }, { ...plain, timeoutSeconds: 5, mode: 'ALWAYS', autoApprove: false }],
  ])('%j is read as %j', async (given, read) => {
    expect(await saved({ gate: given })).toMatchObject(read)
  })

  test.each([
    [{ autoApprove: true, mode: 'NEVER' }, 'autoApprove'],
    [{ autoApprove: false, mode: 'ALWAYS' }, 'autoApprove'],
    [{ autoApprove: true, when: over100 }, 'when'],
    [{ mode: 'WHEN' }, 'when'],
    [{ mode: 'ALWAYS', when: over100 }, 'when'],
    [{ mode: 'NEVER', when: over100 }, 'when'],
    [{ when: { type: 'objekt' } }, 'when.type'],
    [{ when: { properties: { amount: { minimum: 'x' } } } }, 'when.properties.amount.minimum'],
    [{ when: { $ref: 'https://x.example/s' } }, 'when.$ref'],
    [{ timeoutSeconds: 4 }, 'timeoutSeconds'],
    [{ timeoutSeconds: week + 1 }, 'timeoutSeconds'],
    [{ quorum: 0 }, 'quorum'],
    [{ quorum: 11 }, 'quorum'],
    [{ escalateAfterSeconds: 0 }, 'escalateAfterSeconds'],
    [{ escalateAfterSeconds: 300 }, 'escalateAfterSeconds'],
    [{ timeoutSeconds: 60, escalateAfterSeconds: 60 }, 'escalateAfterSeconds'],
    [{ approvers: ['ADMIN', 'DEVELOPER', 'APPROVER', 'CALLER', 'VIEWER', 'ADMIN'] }, 'approvers'],
  ])('%j is refused with its path, for tools and agents', async (given, where) => {
    const path = ['input', 'gate', ...where.split('.')]
    expect(await saved({ gate: given })).toMatchObject({
      __typename: 'ValidationError',
      issues: expect.arrayContaining([expect.objectContaining({ path })]),
    })
    expect(
      await h.mutate(
        'createAgent',
        { name: `a ${JSON.stringify(given)}`.slice(0, 90), gate: given },
        'agent { id }',
      ),
    ).toMatchObject({
      __typename: 'ValidationError',
      issues: expect.arrayContaining([expect.objectContaining({ path })]),
    })
  })
})

describe('a tool that is annotated as destructive', () => {
  const annotations = { destructiveHint: true }

  test('stops every call while it has no gate, but not when the operator switched the gate off explicitly', async () => {
    const tool = await gate.gated(null, { annotations })
    expect((await gate.call(tool.id))['status']).toBe('AWAITING_APPROVAL')
    expect(await saved({ annotations })).toMatchObject({ mode: 'ALWAYS', source: 'DESTRUCTIVE_HINT' })
    const off = await h.mutate(
      'updateTool',
      { id: tool.id, gate: { autoApprove: true } },
      `tool { ${policy} }`,
    )
    expect(off['tool'].gate).toMatchObject({ mode: 'NEVER', source: 'OPERATOR' })
    expect((await gate.call(tool.id))['status']).toBe('SUCCEEDED')
    const again = await h.mutate('updateTool', { id: tool.id, gate: null }, `tool { ${policy} }`)
    expect(again['tool'].gate).toMatchObject({ mode: 'ALWAYS', source: 'DESTRUCTIVE_HINT' })
    expect((await gate.call(tool.id))['status']).toBe('AWAITING_APPROVAL')
  })

  test('one with annotations that only deny something passes', async () => {
    const tool = await gate.gated(null, { annotations: { destructiveHint: false, readOnlyHint: false } })
    expect((await gate.call(tool.id))['status']).toBe('SUCCEEDED')
  })
})

describe('WHEN', () => {
  test('stops the calls whose arguments fit, and no others', async () => {
    const tool = await gate.gated({ when: over100 })
    expect((await gate.call(tool.id, { amount: 100 }))['status']).toBe('SUCCEEDED')
    expect((await gate.call(tool.id, { amount: 101 }))['status']).toBe('AWAITING_APPROVAL')
    expect(gate.paid(tool.name).map((one) => one.body)).toEqual([{ amount: 100 }])
  })

  test('evaluates the merged arguments: a preset decides, and a caller cannot override it', async () => {
    const when = { properties: { to: { const: 'abroad' } }, required: ['to'] }
    const abroad = await gate.gated({ when }, { presetParameters: { to: 'abroad' } })
    expect((await gate.call(abroad.id, { amount: 1, to: 'home' }))['status']).toBe('AWAITING_APPROVAL')
    const home = await gate.gated({ when }, { presetParameters: { to: 'home' } })
    expect((await gate.call(home.id, { amount: 1, to: 'abroad' }))['status']).toBe('SUCCEEDED')
  })
})

describe('the stricter of tool and agent', () => {
  const required = async (id: string) => (await gate.pending(id))[0]!['requirement']

  test('applies in every part', async () => {
    const tool = await gate.gated({
      timeoutSeconds: 600,
      quorum: 1,
      excludeRequester: true,
      approvers: ['APPROVER', 'ADMIN'],
      escalateAfterSeconds: 200,
    })
    const agentGate = {
      timeoutSeconds: 400,
      quorum: 2,
      excludeRequester: false,
      approvers: ['ADMIN'],
      escalateAfterSeconds: 100,
    }
    expect(await required(await gate.ask(tool, { amount: 1 }, { gate: agentGate }))).toEqual({
      timeoutSeconds: 400,
      quorum: 2,
      excludeRequester: true,
      approvers: [['APPROVER', 'ADMIN'], ['ADMIN']],
      escalateAfterSeconds: 100,
    })
  })

  test('is that of the tool when the agent requires less', async () => {
    const tool = await gate.gated({ timeoutSeconds: 60, quorum: 2, escalateAfterSeconds: 10 })
    const lax = { timeoutSeconds: 600, escalateAfterSeconds: 300 }
    const strict = { timeoutSeconds: 60, quorum: 2, escalateAfterSeconds: 10, approvers: [] }
    expect(await required(await gate.ask(tool, { amount: 1 }, { gate: lax }))).toMatchObject(strict)
    expect(await required(await gate.ask(tool, { amount: 1 }, { gate: { mode: 'NEVER' } }))).toMatchObject(
      strict,
    )
    expect(await required(await gate.ask(tool, { amount: 1 }, { gate: { when: over100 } }))).toMatchObject(
      strict,
    )
  })

  test('an agent stops what its tools let pass, by its own rule', async () => {
    const tool = await gate.gated(null)
    expect(await required(await gate.ask(tool, { amount: 101 }, { gate: { when: over100 } }))).toMatchObject({
      quorum: 1,
      timeoutSeconds: 300,
    })
    const small = await h.until(await gate.ask(tool, { amount: 1 }, { gate: { when: over100 } }), [
      'COMPLETED',
    ])
    expect(small['output'].text).toBe('done')
  })

  test('an escalation that would come after the shorter deadline is dropped', async () => {
    const tool = await gate.gated({ timeoutSeconds: 600, escalateAfterSeconds: 100 })
    const id = await gate.ask(tool, { amount: 1 }, { gate: { timeoutSeconds: 50 } })
    expect(await required(id)).toMatchObject({ timeoutSeconds: 50, escalateAfterSeconds: null })
  })

  test('a run cannot loosen the gate of its agent', async () => {
    const agentId = await fixtures.agent({ gate: { mode: 'ALWAYS' } })
    for (const gateOfRun of [{ mode: 'NEVER' }, { autoApprove: true }, null]) {
      const input = { agentId, prompt: 'hi', gate: gateOfRun }
      const { errors } = await h.gql(
        'mutation($input: StartGenerationInput!) { startGeneration(input: $input) { __typename } }',
        { input },
      )
      expect(errors![0]!.extensions).toMatchObject({ code: 'INVALID' })
    }
  })
})

test('a gate is shown on the agent, and taken away with null', async () => {
  const { agent } = await h.mutate(
    'createAgent',
    { name: 'gated agent', gate: { when: schema } },
    `agent { id ${policy} }`,
  )
  expect(agent.gate).toMatchObject({ mode: 'WHEN', when: schema, source: 'OPERATOR' })
  const kept = await h.mutate('updateAgent', { id: agent.id, instructions: 'x' }, `agent { ${policy} }`)
  expect(kept['agent'].gate).toMatchObject({ mode: 'WHEN' })
  const gone = await h.mutate('updateAgent', { id: agent.id, gate: null }, `agent { ${policy} }`)
  expect(gone['agent'].gate).toBeNull()
})
