/** Drift: an approval does not cover what was changed between the request and the run. */
import { describe, expect, test } from 'vitest'
import { callFields, useGateFixtures } from '../../support/gate-fixtures.ts'
import { holdStatement, watchStatements } from '../../support/held-statement.ts'
import { objectSchema } from '../../support/fixtures.ts'

const { h, fixtures, gate } = await useGateFixtures()

const stopped = { autoApprove: false }
type Tool = { id: string; name: string }
const moveTo = (
  tool: Tool,
  path: string,
  properties: object = { amount: { type: 'number' } },
  more: object = {},
) =>
  h.mutate(
    'updateTool',
    {
      id: tool.id,
      config: { http: { url: `${fixtures.upstream.url}/${path}`, inputSchema: objectSchema(properties) } },
      ...more,
    },
    'tool { version }',
  )

/** The next approval of a generation after the one that was voided. */
async function askedAgain(id: string, than: string): Promise<string> {
  const events = await h.collect(
    `subscription($id: ID!) { generationEvents(generationId: $id) { type
      ... on ApprovalRequestedEvent { approval { id } } } }`,
    { id },
    (all) => all.some((event) => event.type === 'APPROVAL_REQUESTED' && event.approval.id !== than),
  )
  return events.at(-1).approval.id
}

describe('a call of a model', () => {
  test('is asked about again after its tool was changed, and runs once with the new version', async () => {
    const tool = await gate.gated(stopped)
    const id = await gate.ask(tool)
    const [first] = await gate.pending(id)
    await moveTo(tool, `${tool.name}_moved`)
    await gate.decide(first!['id'], 'APPROVE')
    const second = await askedAgain(id, first!['id'])
    expect(await gate.approval(first!['id'])).toMatchObject({
      status: 'VOIDED',
      voidReason: 'TOOL_CHANGED',
      decision: null,
      votes: [{ verdict: 'APPROVE' }],
    })
    expect(await gate.approval(second)).toMatchObject({
      status: 'PENDING',
      toolVersion: 2,
      arguments: { amount: 5 },
      votes: [],
    })
    expect([...gate.paid(tool.name), ...gate.paid(`${tool.name}_moved`)]).toEqual([])
    await gate.decide(second, 'APPROVE')
    const end = await h.until(
      id,
      ['COMPLETED'],
      `toolCalls { ${callFields} } events(first: 50) { nodes { type ... on ApprovalVoidedEvent { reason } } }`,
    )
    expect(end['toolCalls']).toMatchObject([
      { status: 'SUCCEEDED', attempt: 1, toolVersion: 2, approval: { id: second } },
    ])
    expect(end['events'].nodes).toContainEqual({ type: 'APPROVAL_VOIDED', reason: 'TOOL_CHANGED' })
    expect([gate.paid(tool.name).length, gate.paid(`${tool.name}_moved`).length]).toEqual([0, 1])
  })

  test('is asked about again even if the new gate would let it pass, and by the new rule when it is stricter', async () => {
    for (const [changed, quorum] of [
      [{ autoApprove: true }, 1],
      [{ quorum: 2 }, 2],
    ] as const) {
      const tool = await gate.gated(stopped)
      const id = await gate.ask(tool)
      const [first] = await gate.pending(id)
      await h.mutate('updateTool', { id: tool.id, gate: changed }, 'tool { version }')
      await gate.decide(first!['id'], 'APPROVE')
      const second = await gate.approval(await askedAgain(id, first!['id']))
      expect(second['requirement'].quorum).toBe(quorum)
      expect(gate.paid(tool.name)).toEqual([])
      await gate.decide(second['id'], 'REJECT')
      await h.until(id, ['COMPLETED'])
    }
  })

  test('runs as approved when only what nobody judges has changed: title and description', async () => {
    const tool = await gate.gated(stopped)
    const id = await gate.ask(tool)
    const [first] = await gate.pending(id)
    await h.mutate('updateTool', { id: tool.id, title: 'Payments', description: 'Pays.' }, 'tool { version }')
    await gate.decide(first!['id'], 'APPROVE')
    const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
    expect(end['toolCalls']).toMatchObject([
      { status: 'SUCCEEDED', attempt: 1, toolVersion: 1, approval: { id: first!['id'] } },
    ])
    expect(gate.paid(tool.name)).toHaveLength(1)
  })

  test('becomes an error that says "changed" when its arguments no longer fit, and is not sent', async () => {
    const tool = await gate.gated(stopped)
    const id = await gate.ask(tool)
    const [first] = await gate.pending(id)
    await moveTo(tool, tool.name, { amount: { type: 'string' } })
    await gate.decide(first!['id'], 'APPROVE')
    const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
    expect(end['toolCalls']).toMatchObject([
      {
        status: 'ERRORED',
        errorCode: 'tool_changed',
        isError: true,
        approval: { voidReason: 'TOOL_CHANGED' },
      },
    ])
    expect(end['output'].text).toBe('done')
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('becomes an error that says "deleted" when its tool was deleted', async () => {
    const tool = await gate.gated(stopped)
    const id = await gate.ask(tool)
    const [first] = await gate.pending(id)
    await h.mutate('deleteTool', { id: tool.id }, 'tool { id }')
    await gate.decide(first!['id'], 'APPROVE')
    const end = await h.until(id, ['COMPLETED'], `toolCalls { ${callFields} }`)
    expect(end['toolCalls']).toMatchObject([
      {
        status: 'ERRORED',
        errorCode: 'tool_deleted',
        approval: { status: 'VOIDED', voidReason: 'TOOL_DELETED' },
      },
    ])
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('is asked about with the arguments that an approver wrote', async () => {
    const tool = await gate.gated(stopped)
    const id = await gate.ask(tool, { amount: 500 })
    const [first] = await gate.pending(id)
    await moveTo(tool, `${tool.name}_moved`)
    await gate.decide(first!['id'], 'APPROVE', { arguments: { amount: 50 } })
    const second = await askedAgain(id, first!['id'])
    expect((await gate.approval(second))['arguments']).toEqual({ amount: 50 })
    await gate.decide(second, 'APPROVE')
    const end = await h.until(id, ['COMPLETED'], 'toolCalls { editedArguments }')
    expect(end['toolCalls']).toEqual([{ editedArguments: ['amount'] }])
    expect(gate.paid(`${tool.name}_moved`).map((one) => one.body)).toEqual([{ amount: 50 }])
  })
})

describe('what was agreed to is told by what was read with the call', () => {
  const asked = {
    'in a run': async (tool: Tool) => {
      const id = await gate.ask(tool)
      const [approval] = await gate.pending(id)
      const ended = () => h.until(id, ['COMPLETED'])
      return { approvalId: approval!['id'], callId: approval!['toolCall'].id, ended }
    },
    'called directly': async (tool: Tool) => {
      const { id, approval } = await gate.call(tool.id)
      const settled = '... on ToolCallSettledEvent { toolCall { id } }'
      const ended = () =>
        gate.feed(['TOOL_CALL_SETTLED'], settled, (all) => all.some(({ toolCall }) => toolCall.id === id))
      return { approvalId: approval.id, callId: id, ended }
    },
  }
  const next = async (callId: string, than: string) => {
    const events = await gate.feed(
      ['APPROVAL_REQUESTED'],
      '... on ApprovalRequestedEvent { approval { id } toolCall { id } }',
      (all) => all.some(({ approval, toolCall }) => toolCall.id === callId && approval.id !== than),
    )
    return events.findLast(({ toolCall }) => toolCall.id === callId)!['approval'].id
  }

  test.each(Object.entries(asked))(
    'a tool that changes before the call begins is asked about again, %s',
    async (_where, ask) => {
      const tool = await gate.gated(stopped)
      const { approvalId, callId, ended } = await ask(tool)
      const begin = { begins: 'with', contains: 'attempt = t.attempt + 1', value: callId }
      // Calls of runs are begun over one of them, calls of nobody over the other.
      const beginnings = [h.app.services.db, h.app.services.leaseDb].map((db) => holdStatement(db, begin))
      await gate.decide(approvalId, 'APPROVE')
      await Promise.race(beginnings.map(({ arrived }) => arrived))
      await moveTo(tool, `${tool.name}_moved`)
      beginnings.forEach(({ release }) => release())
      const second = await next(callId, approvalId)
      expect(await gate.approval(approvalId)).toMatchObject({ status: 'VOIDED', voidReason: 'TOOL_CHANGED' })
      await gate.decide(second, 'APPROVE')
      await ended()
      expect(gate.paid(tool.name)).toEqual([])
      expect(gate.paid(`${tool.name}_moved`)).toHaveLength(1)
    },
  )

  test.each(Object.entries(asked))('and the approval is not read again, %s', async (_where, ask) => {
    const tool = await gate.gated(stopped)
    const { approvalId, ended } = await ask(tool)
    const reads = watchStatements(h.app.services.db, approvalId)
    await gate.decide(approvalId, 'APPROVE')
    await ended()
    reads.stop()
    // The approval before the verdict, and the verdict.
    expect(reads.seen.map((text) => text.split(' ')[0])).toEqual(['select', 'with'])
  })
})

test('a client call is asked about again, too, before it is passed to the client', async () => {
  const tool = await gate.gatedClient(stopped)
  const id = await gate.ask(tool)
  const [first] = await gate.pending(id)
  const inputSchema = objectSchema({ amount: { type: 'number', maximum: 10 } })
  await h.mutate('updateTool', { id: tool.id, config: { client: { inputSchema } } }, 'tool { version }')
  await gate.decide(first!['id'], 'APPROVE')
  const second = await askedAgain(id, first!['id'])
  expect(await gate.approval(first!['id'])).toMatchObject({ status: 'VOIDED', voidReason: 'TOOL_CHANGED' })
  await gate.decide(second, 'APPROVE')
  await fixtures.answer(id)
  expect((await h.until(id, ['COMPLETED']))['output'].text).toBe('done')
})

describe('a direct call', () => {
  const asked = async () => {
    const tool = await gate.gated(stopped)
    const call = await gate.call(tool.id)
    return { tool, callId: call['id'] as string, approvalId: call['approval'].id as string }
  }
  const again = async (callId: string, than: string) => {
    await gate.feed(
      ['APPROVAL_REQUESTED'],
      '... on ApprovalRequestedEvent { approval { id } toolCall { id } }',
      (events) => events.some((event) => event['toolCall'].id === callId && event['approval'].id !== than),
    )
    return gate.toolCall(callId)
  }

  test('is asked about again, and runs once with the new version', async () => {
    const { tool, callId, approvalId } = await asked()
    await moveTo(tool, `${tool.name}_moved`)
    await gate.decide(approvalId, 'APPROVE')
    const call = await again(callId, approvalId)
    expect(call).toMatchObject({
      status: 'AWAITING_APPROVAL',
      toolVersion: 2,
      approval: { status: 'PENDING' },
    })
    expect(await gate.approval(approvalId)).toMatchObject({ status: 'VOIDED', voidReason: 'TOOL_CHANGED' })
    await gate.decide(call['approval'].id, 'APPROVE')
    expect(await gate.untilCall(callId, ['SUCCEEDED'])).toMatchObject({ attempt: 1 })
    expect([gate.paid(tool.name).length, gate.paid(`${tool.name}_moved`).length]).toEqual([0, 1])
  })

  test('becomes an error that says "changed" or "deleted" when it cannot be asked about again', async () => {
    const changed = await asked()
    await moveTo(changed.tool, changed.tool.name, { amount: { type: 'string' } })
    await gate.decide(changed.approvalId, 'APPROVE')
    expect(await gate.untilCall(changed.callId, ['ERRORED'])).toMatchObject({ errorCode: 'tool_changed' })
    const deleted = await asked()
    await h.mutate('deleteTool', { id: deleted.tool.id }, 'tool { id }')
    await gate.decide(deleted.approvalId, 'APPROVE')
    expect(await gate.untilCall(deleted.callId, ['ERRORED'])).toMatchObject({ errorCode: 'tool_deleted' })
    expect([...gate.paid(changed.tool.name), ...gate.paid(deleted.tool.name)]).toEqual([])
  })
})

describe('a change of one field', () => {
  const url = ({ name }: Tool) => `${fixtures.upstream.url}/${name}`
  const schema = (properties: object) =>
    objectSchema({ amount: { type: 'number' }, to: { type: 'string' }, ...properties })
  const masked = { pin: { type: 'string', writeOnly: true } }
  const http = (config: object) => ({
    config: {
      http: {
        url: `${fixtures.upstream.url}/moved`,
        inputSchema: schema(masked),
        ...config,
      },
    },
  })
  /** Each field of a tool, and whether an approval of a call is void when it changes. */
  const fields: Record<string, { to: (tool: Tool) => object; isVoid: boolean }> = {
    title: { to: () => ({ title: 'Pay somebody' }), isVoid: false },
    description: { to: () => ({ description: 'Pays an amount.' }), isVoid: false },
    'a title among its annotations': { to: () => ({ annotations: { title: 'Pay' } }), isVoid: false },
    openWorldHint: { to: () => ({ annotations: { openWorldHint: true } }), isVoid: false },
    timeoutMs: { to: () => ({ timeoutMs: 1234 }), isVoid: false },
    'a description in its schema': {
      to: (tool) =>
        http({
          url: url(tool),
          inputSchema: schema({ ...masked, amount: { type: 'number', description: 'euros' } }),
        }),
      isVoid: false,
    },
    name: { to: ({ name }) => ({ name: `${name}_too` }), isVoid: true },
    'its address': { to: () => http({}), isVoid: true },
    'its method': { to: (tool) => http({ url: url(tool), method: 'PUT' }), isVoid: true },
    'its headers, with credentials': {
      to: (tool) => http({ url: url(tool), headers: { authorization: 'Bearer other' } }),
      isVoid: true,
    },
    'its schema': {
      to: (tool) => http({ url: url(tool), inputSchema: schema({ ...masked, note: { type: 'string' } }) }),
      isVoid: true,
    },
    'a mask': {
      to: (tool) => http({ url: url(tool), inputSchema: schema({ pin: { type: 'string' } }) }),
      isVoid: true,
    },
    outputSchema: { to: () => ({ outputSchema: { type: 'object', minProperties: 0 } }), isVoid: true },
    presetParameters: { to: () => ({ presetParameters: { to: 'bob' } }), isVoid: true },
    gate: { to: () => ({ gate: { autoApprove: false, timeoutSeconds: 999 } }), isVoid: true },
    idempotent: { to: () => ({ idempotent: true }), isVoid: true },
    destructiveHint: { to: () => ({ annotations: { destructiveHint: false } }), isVoid: true },
    readOnlyHint: { to: () => ({ annotations: { readOnlyHint: true } }), isVoid: true },
    agentsOnly: { to: () => ({ agentsOnly: true }), isVoid: true },
    task: { to: () => ({ task: { mode: 'NEVER' } }), isVoid: true },
  }
  const change = async (tool: Tool, more: object) =>
    expect(await h.mutate('updateTool', { id: tool.id, ...more }, 'tool { version }')).toMatchObject({
      tool: { version: expect.any(Number) },
    })

  test.each(Object.keys(fields))('%s', async (name) => {
    const { to, isVoid } = fields[name]!
    const tool = await gate.gated(stopped)
    // The schema as the cases write it, so that a case changes one thing.
    await change(tool, http({ url: url(tool) }))
    const call = await gate.call(tool.id)
    await change(tool, to(tool))
    await gate.decide(call['approval'].id, 'APPROVE')
    await gate.untilCall(call['id'], isVoid ? ['AWAITING_APPROVAL', 'ERRORED'] : ['SUCCEEDED'])
    const { status, voidReason } = await gate.approval(call['approval'].id)
    expect({ status, voidReason }).toEqual(
      isVoid ? { status: 'VOIDED', voidReason: 'TOOL_CHANGED' } : { status: 'APPROVED', voidReason: null },
    )
    expect(gate.paid(tool.name)).toHaveLength(isVoid ? 0 : 1)
  })

  test('a change that is not judged hides none that was, nor does a grant end with it', async () => {
    const tool = await gate.gated(stopped)
    const call = await gate.call(tool.id)
    await moveTo(tool, `${tool.name}_moved`)
    await change(tool, { title: 'Moved' })
    const [first, waits] = [call['approval'].id as string, ['AWAITING_APPROVAL']]
    await gate.decide(first, 'APPROVE')
    const again = await gate.untilCall(call['id'], waits)
    expect(await gate.approval(first)).toMatchObject({ status: 'VOIDED' })
    const grant = { holder: 'CALLER', scope: 'TOOL', expiresInSeconds: 600, maxUses: 5 }
    await gate.decide(again['approval'].id, 'APPROVE', { grant })
    await gate.untilCall(call['id'], ['SUCCEEDED'])
    await change(tool, { title: 'Moved again' })
    expect(await gate.call(tool.id)).toMatchObject({ status: 'SUCCEEDED' })
    await moveTo(tool, `${tool.name}_again`)
    expect(await gate.call(tool.id)).toMatchObject({ status: 'AWAITING_APPROVAL' })
  })
})

test('a tool that was not changed is not asked about twice', async () => {
  const tool = await gate.gated(stopped)
  const call = await gate.call(tool.id)
  await gate.decide(call['approval'].id, 'APPROVE')
  expect(await gate.untilCall(call['id'], ['SUCCEEDED', 'AWAITING_APPROVAL'])).toMatchObject({
    status: 'SUCCEEDED',
    approval: { id: call['approval'].id, status: 'APPROVED' },
  })
})
