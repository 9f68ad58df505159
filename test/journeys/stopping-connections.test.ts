/** A server that stops, and clients that keep their connections. */
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'

test('the response to the last request of a stopping server closes its connection, so that the next goes elsewhere', async () => {
  let answer = () => {}
  const upstream = await startLoopback((_request, response) => void (answer = () => response.end('paid')))
  const h = await openHarness()
  const http = { url: `${upstream.url}/pay`, method: 'POST', inputSchema: { type: 'object' } }
  const { tool } = await h.mutate('createTool', { name: 'pay', config: { http } }, 'tool { id }')
  const query = `mutation($id: ID!) { callTool(input: { toolId: $id, arguments: {} }) {
    ... on ToolCallPayload { toolCall { status } } } }`
  const calling = fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ query, variables: { id: tool.id } }),
  })
  await upstream.nextRequest()
  const stopped = h.app.stop(20_000)
  const refused = () =>
    fetch(`${h.url}/healthz`, { headers: { connection: 'close' } }).then(
      () => false,
      () => true,
    )
  await expect.poll(refused).toBe(true)
  answer()
  const response = await calling
  expect(await response.json()).toMatchObject({
    data: { callTool: { toolCall: { status: 'SUCCEEDED' } } },
  })
  expect(response.headers.get('connection')).toBe('close')
  await stopped
  await upstream.close()
})
