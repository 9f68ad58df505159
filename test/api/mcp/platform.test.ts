/** /mcp: the platform actions, derived from the GraphQL schema, with the caller's permissions. */
import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../../src/core/json-schema.ts'
import { isToolName } from '../../../src/domain/tools/index.ts'
import { callRaw, rpc } from '../../support/bridge.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { connectV2 } from '../../support/mcp-clients.ts'
import { startLoopback } from '../../support/loopback.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { schema } from '../graphql/minimal-input.ts'
import { forFile } from '../../support/for-file.ts'

const upstream = await forFile(
  startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
  }),
)
const h = await forFile(openHarness())
const url: string = `${h.url}/mcp`
const { body } = await rpc(url, adminKey, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
const actions: { name: string; description: string; inputSchema: any; annotations: any }[] =
  body['result'].tools

async function act(name: string, args: object, key = adminKey): Promise<Record<string, any>> {
  return (await callRaw(url, key, name, args)).body
}

/** Programs call it, with what their releases happen to send. */
const beside = 'approve'

test('every marked field is an action, and nothing else is', () => {
  const marked = [schema.getQueryType()!, schema.getMutationType()!].flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => field.extensions['action'])
      .map((field) => field.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)),
  )
  expect(actions.map((action) => action.name)).toEqual([...marked, beside])
  expect(marked).toEqual(expect.arrayContaining(['tools', 'create-tool', 'call-tool', 'start-generation']))
  const secret = /secret|key|provider|decide|resolve|revoke|project/
  expect(marked.filter((name) => secret.test(name))).toEqual([])
})

test('each has a valid name, a description, a schema that compiles and correct annotations', () => {
  for (const { name, description, inputSchema, annotations } of actions) {
    expect(isToolName(name), name).toBe(true)
    expect(description.length, name).toBeGreaterThan(10)
    expect(compileSchema(inputSchema, 'proj_a'), name).toMatchObject({ ok: true })
    expect(inputSchema.additionalProperties).toBe(name === beside ? undefined : false)
    if (name.startsWith('delete')) expect(annotations.destructiveHint).toBe(true)
  }
  expect(actions.find((action) => action.name === 'tools')!.annotations.readOnlyHint).toBe(true)
})

describe('an action', () => {
  test('makes a tool, an agent and a run, and reads them back, as a client would', async () => {
    const client = await connectV2(url, adminKey, { mode: 'auto' })
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })).structuredContent as Record<string, any>
    const http = { url: upstream.url, method: 'GET', inputSchema: objectSchema({}) }
    const { tool } = await call('create-tool', { name: 'made_by_mcp', config: { http } })
    expect(tool).toMatchObject({ id: expect.stringMatching(/^tool_/), name: 'made_by_mcp', version: 1 })
    const { agent } = await call('create-agent', { name: 'by mcp', toolIds: [tool.id] })
    const called = await call('call-tool', { toolId: tool.id })
    expect(called['toolCall']).toMatchObject({ status: 'SUCCEEDED', structuredContent: { ok: true } })
    const started = await call('start-generation', { agentId: agent.id, prompt: 'hello' })
    await h.until(started['generation'].id, ['COMPLETED'])
    expect(await call('generation', { id: started['generation'].id })).toMatchObject({ status: 'COMPLETED' })
    expect((await call('tools', { first: 1 }))['nodes']).toHaveLength(1)
    await client.close()
  })

  test('refuses as GraphQL does: in a result with the code', async () => {
    const faulty = await act('create-tool', { name: 'no spaces', config: { client: { inputSchema: {} } } })
    expect(faulty['result']).toMatchObject({ isError: true })
    expect(faulty['result'].structuredContent.error).toMatchObject({ code: 'invalid' })
    const missing = await act('delete-tool', { id: 'tool_none' })
    expect(missing['result'].structuredContent.error).toMatchObject({ code: 'not_found' })
  })

  test('checks its arguments against its schema', async () => {
    const { error } = await act('create-agent', { nam: 'x' })
    expect(error).toMatchObject({ code: -32602, data: { type: 'invalid' } })
    const paths = error.data.issues.map((issue: any) => issue.path.join('.'))
    expect(paths.toSorted()).toEqual(['arguments.nam', 'arguments.name'])
  })

  test('never has more rights than its caller', async () => {
    const made = await h.mutate('createApiKey', { name: 'viewer', role: 'VIEWER' }, 'secret')
    expect((await act('tools', {}, made['secret']))['result'].isError).toBe(false)
    const http = { url: upstream.url, inputSchema: objectSchema({}) }
    const refused = await act('create-tool', { name: 'never', config: { http } }, made['secret'])
    expect(refused['result'].structuredContent.error).toMatchObject({
      code: 'forbidden',
      action: 'tools:Create',
    })
  })

  test("does not see another project's things", async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const key = await h.mutate('createApiKey', { name: 'a', role: 'ADMIN', projectId: project.id }, 'secret')
    const mine = (await act('tools', {}))['result'].structuredContent.nodes[0]
    const theirs = await act('tools', {}, key['secret'])
    expect(theirs['result'].structuredContent.nodes).toEqual([])
    const peek = await act('tool', { id: mine.id }, key['secret'])
    expect(peek['result'].content[0].text).toBe('null')
  })

  test('that a gate stops returns the pending call, and cannot be approved over MCP', async () => {
    const http = { url: upstream.url, inputSchema: objectSchema({}) }
    const made = await act('create-tool', { name: 'gated', config: { http }, gate: { autoApprove: false } })
    const { tool } = made['result'].structuredContent
    const called = await act('call-tool', { toolId: tool.id })
    expect(called['result'].structuredContent.toolCall).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { status: 'PENDING' },
    })
  })
})
