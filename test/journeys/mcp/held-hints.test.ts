/**
 * What a server said about its tool holds until a person with gates:Update agrees to less: a hint that it takes back opens no
 * gate, and arguments that it changes unmask nothing, evade no condition and no preset.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../support/fixtures.ts'
import { startModern } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

let count = 0
const reached: object[] = []

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const upstream = await forFile(startModern())
beforeEach(() => void (reached.length = 0))

/** What the server says about its tool `act` from now on; null: it has none. */
function serve(said: { annotations?: object; properties?: object; description?: string } | null): void {
  if (!said) return void upstream.tools.delete('act')
  const { properties = {}, annotations, description } = said
  upstream.tools.set('act', {
    tool: {
      name: 'act',
      ...(description ? { description } : {}),
      inputSchema: objectSchema(properties, []) as never,
      ...(annotations ? { annotations } : {}),
    },
    run: (args: object) => {
      reached.push(args)
      return { content: [{ type: 'text', text: 'done' }] }
    },
  })
}

interface Action {
  annotations: Record<string, boolean | null>
  gate: { mode: string }
  heldChange: { changes: string[]; hash: string } | null
}

async function farTool(mcp: object = {}, more: object = {}): Promise<string> {
  const config = { mcp: { url: upstream.url, ...mcp } }
  const made = await h.mutate('createTool', { name: `held_${++count}`, config, ...more }, 'tool { id }')
  return made['tool'].id
}
async function refreshed(toolId: string): Promise<Action | undefined> {
  const action = `actions { annotations { readOnlyHint destructiveHint idempotentHint } gate { mode }
    heldChange { changes hash } }`
  const { tool } = await h.mutate('refreshUpstream', { toolId }, `tool { ... on McpTool { ${action} } }`)
  return tool.actions[0]
}
const statusOf = async (toolId: string, args: object = {}) =>
  (await gate.call(toolId, args, { action: 'act' }))['status'] as string
const accept = (toolId: string, hash: string, key?: string) =>
  h.mutate('acceptUpstreamChange', { toolId, action: 'act', hash }, 'tool { id }', key)
const [asks, runs] = ['AWAITING_APPROVAL', 'SUCCEEDED']

describe('hints', () => {
  test.each(['left out', 'false'])('a destructive hint that is %s later still stops calls', async (how) => {
    serve({ annotations: { destructiveHint: true } })
    const id = await farTool()
    expect(await statusOf(id)).toBe(asks)
    serve(how === 'false' ? { annotations: { destructiveHint: false } } : {})
    const action = await refreshed(id)
    expect(action).toMatchObject({
      annotations: { destructiveHint: true },
      gate: { mode: 'ALWAYS' },
      heldChange: { changes: [expect.stringMatching(/^destructiveHint was true; this server now /)] },
    })
    expect(await statusOf(id)).toBe(asks)
    expect(reached).toEqual([])
  })

  test('a tool that went away in between is held to what it said before', async () => {
    serve({ annotations: { destructiveHint: true } })
    const id = await farTool()
    serve(null)
    expect(await refreshed(id)).toBeUndefined()
    serve({})
    await refreshed(id)
    expect(await statusOf(id)).toBe(asks)
  })

  test.each(['readOnlyHint', 'idempotentHint'] as const)(
    'a %s that comes later makes no call repeatable',
    async (hint) => {
      serve({})
      const id = await farTool({ trustHints: true })
      serve({ annotations: { [hint]: true } })
      expect((await refreshed(id))!.annotations[hint]).toBe(false)
      const { hash } = (await refreshed(id))!.heldChange!
      await accept(id, hash)
      expect(await refreshed(id)).toMatchObject({ annotations: { [hint]: true }, heldChange: null })
    },
  )

  test('a stricter hint counts at once, and nothing is held of a description', async () => {
    serve({ annotations: { readOnlyHint: true } })
    const id = await farTool()
    expect(await statusOf(id)).toBe(runs)
    serve({ annotations: { destructiveHint: true }, description: 'Acts.' })
    expect(await refreshed(id)).toMatchObject({ gate: { mode: 'ALWAYS' }, heldChange: null })
    serve({ annotations: { destructiveHint: true }, description: 'Acts, as ever.' })
    expect(await refreshed(id)).toMatchObject({ heldChange: null })
  })
})

describe('arguments', () => {
  const pin = { type: 'string', writeOnly: true }

  test('that were masked stay masked, also under a new name', async () => {
    serve({ properties: { pin, to: { type: 'string' } } })
    const id = await farTool({}, { gate: { autoApprove: false } })
    const shown = async (args: object) => {
      const { approval } = await gate.call(id, args, { action: 'act' })
      return (await gate.approval(approval.id))['arguments']
    }
    expect(await shown({ pin: 'secret', to: 'bob' })).toEqual({ pin: '[masked]', to: 'bob' })
    serve({ properties: { pin: { type: 'string' }, to: { type: 'string' } } })
    await refreshed(id)
    expect(await shown({ pin: 'secret', to: 'bob' })).toEqual({ pin: '[masked]', to: 'bob' })
    serve({ properties: { code: { type: 'string' }, to: { type: 'string' } } })
    await refreshed(id)
    expect(await shown({ code: 'secret', to: 'bob' })).toEqual({ code: '[masked]', to: 'bob' })
    const { hash } = (await refreshed(id))!.heldChange!
    await accept(id, hash)
    expect(await shown({ code: 'open', to: 'bob' })).toEqual({ code: 'open', to: 'bob' })
  })

  const amount = { type: 'number' }
  const when = { properties: { amount: { minimum: 100 } }, required: ['amount'] }

  test.each(['of the tool', 'of an agent'])(
    'a condition %s on an argument that was renamed stops every call',
    async (whose) => {
      serve({ properties: { amount } })
      const policy = { mode: 'WHEN', when }
      const ofTool = whose === 'of the tool'
      const id = await farTool({}, ofTool ? { gate: policy } : {})
      const more = { toolIds: [id], ...(ofTool ? {} : { gate: policy }) }
      const agentId = await fixtures.agent(more)
      const endOf = async (args: object) => {
        const generationId = await fixtures.start(agentId, `call held_${count}_act ${JSON.stringify(args)}`)
        return (await h.until(generationId, ['COMPLETED', asks]))['status']
      }
      expect(await endOf({ amount: 5 })).toBe('COMPLETED')
      expect(await endOf({ amount: 500 })).toBe(asks)
      serve({ properties: { total: amount } })
      expect(await refreshed(id)).toMatchObject({
        heldChange: { changes: ['This server now asks for other arguments: without amount, with total.'] },
      })
      reached.length = 0
      expect(await endOf({ total: 500 })).toBe(asks)
      expect(reached).toEqual([])
      // The server takes it back: the condition can be judged again.
      serve({ properties: { amount: { ...amount, description: 'In euros.' } } })
      expect(await refreshed(id)).toMatchObject({ heldChange: null })
      expect(await endOf({ amount: 5 })).toBe('COMPLETED')
    },
  )

  test('an argument with a preset that was renamed stops every call, although no gate was set', async () => {
    serve({ properties: { account: { type: 'string' } } })
    const id = await farTool({}, { presetParameters: { account: 'shared' } })
    expect(await statusOf(id)).toBe(runs)
    serve({ properties: { acct: { type: 'string' } } })
    await refreshed(id)
    expect(await statusOf(id, { acct: 'mine' })).toBe(asks)
    expect(reached).toEqual([{ account: 'shared' }])
  })
})

describe('a change', () => {
  test('is in the audit log, and is accepted by whoever may change gates and has read it', async () => {
    serve({ annotations: { destructiveHint: true } })
    const id = await farTool()
    serve({})
    const { changes, hash } = (await refreshed(id))!.heldChange!
    await refreshed(id)
    const audit = async () => {
      const query = `query($filter: AuditFilter) { auditEntries(first: 20, filter: $filter) { nodes { principalId outcome details } } }`
      const filter = { resource: `tool/${id}`, action: 'gates:Update' }
      return (await h.gql(query, { filter })).data['auditEntries'].nodes
    }
    expect(await audit()).toEqual([
      { principalId: 'system', outcome: 'DENIED', details: { action: 'act', changes } },
    ])
    const caller = await gate.key({ role: 'CALLER' })
    await expect(accept(id, hash, caller.secret)).rejects.toThrow('FORBIDDEN')
    expect(await accept(id, 'another')).toMatchObject({ code: 'CONFLICT' })
    expect(await statusOf(id)).toBe(asks)
    expect(await accept(id, hash)).toMatchObject({ tool: { id } })
    expect(await accept(id, hash)).toMatchObject({ tool: { id } })
    expect(await refreshed(id)).toMatchObject({ gate: { mode: 'NEVER' }, heldChange: null })
    expect(await statusOf(id)).toBe(runs)
    expect((await audit())[0]).toMatchObject({ outcome: 'ALLOWED', details: { action: 'act', changes } })
  })
})
