/** A call that its caller cancels while it runs: the result says what happened. */
import { expect, test } from 'vitest'
import { rpc } from '../support/bridge.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

let answer: () => void

const h = await forFile(openHarness({}, { mcp: { taskAfterMs: 20 } }))
const fixtures = await forFile(makeFixtures(h))
const slow = await forFile(
  startLoopback((_request, response) => {
    answer = () => response.end('it was done')
  }),
)

async function startedTask(name: string, more: object = {}) {
  const http = { url: `${slow.url}/${name}`, inputSchema: objectSchema({}) }
  const { tool } = await h.mutate('createTool', { name, config: { http }, ...more }, 'tool { id }')
  const agentId = await fixtures.agent({ toolIds: [tool.id], mcp: { enabled: true } })
  const ask = async (method: string, params: Record<string, unknown>) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    }
    const { body } = await rpc(
      `${h.url}/mcp/${agentId}`,
      adminKey,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
      {
        'mcp-protocol-version': '2026-07-28',
        accept: 'application/json, text/event-stream',
        'mcp-method': method,
        'mcp-name': String(params['taskId'] ?? params['name']),
      },
    )
    return body['result']
  }
  const { taskId } = await ask('tools/call', { name, arguments: {} })
  while (!slow.seen.some((seen) => seen.url === `/${name}`))
    await new Promise((resolve) => setImmediate(resolve))
  return { taskId: taskId as string, ask }
}

const settled = (id: string) =>
  h.collect(
    'subscription { projectEvents(after: "0", types: [TOOL_CALL_SETTLED]) { ... on ToolCallSettledEvent { toolCall { id status } } } }',
    {},
    (events) => events.some((event) => event.toolCall.id === id),
  )

test('it may take effect and succeeds: the task is working until then, and completed with its result', async () => {
  const { taskId, ask } = await startedTask('book')
  await ask('tasks/cancel', { taskId })
  expect(await ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  answer()
  await settled(taskId.split('.')[0]!)
  expect(await ask('tasks/get', { taskId })).toMatchObject({
    status: 'completed',
    result: { isError: false, content: [{ text: 'it was done' }] },
  })
})

test('it may be repeated and is aborted: the task is cancelled', async () => {
  const { taskId, ask } = await startedTask('look_up', { idempotent: true })
  await ask('tasks/cancel', { taskId })
  await settled(taskId.split('.')[0]!)
  expect(await ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
})
