/** How a server refuses a call: what its HTTP status and its JSON-RPC error say about whether it has acted. */
import { afterEach, expect, it } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { respond, startScriptedMcp, type ScriptedMcp } from '../../support/scripted-mcp.ts'
import { saveTo, type Saved } from '../../support/upstream-services.ts'
import { forFile } from '../../support/for-file.ts'

let server: ScriptedMcp | null = null
const h = await forFile(openHarness())
afterEach(async () => {
  await server?.close()
  server = null
})

async function serverThat(answers: Parameters<typeof startScriptedMcp>[0]): Promise<Saved> {
  server = await startScriptedMcp(answers)
  const one = await saveTo(h.app.services, server.url)
  expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', era: 'legacy' })
  return one
}

const noSession = (id: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32001, message: 'Session not found' },
})
const done = (id: unknown) => ({ jsonrpc: '2.0', id, result: { content: [] } })

it.each([400, 404])('a call whose own error came with HTTP %i is not sent again', async (status) => {
  const error = { code: -32603, message: 'It was paid, but the receipt failed.' }
  const one = await serverThat((response, id) => respond(response, status, { jsonrpc: '2.0', id, error }))
  expect(await one.call('pay')).toMatchObject({
    sent: true,
    lost: false,
    result: {
      isError: true,
      structuredContent: { error: { code: 'upstream_error', message: error.message } },
    },
  })
  expect(server!.calls).toHaveLength(1)
})

it.each([400, 404])('a call to a session that is gone, by HTTP %i, is sent to a new one', async (status) => {
  const one = await serverThat((response, id, nth) =>
    nth === 1 ? respond(response, status, noSession(null)) : respond(response, 200, done(id)),
  )
  expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
  expect([server!.calls.length, server!.opened()]).toEqual([2, 2])
})

it('the next call goes to a new session when a server refuses a lost one under the id of the request', async () => {
  const one = await serverThat((response, id, nth) =>
    nth === 1 ? respond(response, 404, noSession(id)) : respond(response, 200, done(id)),
  )
  expect(await one.call('pay')).toMatchObject({ result: { isError: true }, lost: false })
  expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
  expect([server!.calls.length, server!.opened()]).toEqual([2, 2])
})

it('a call of which another Gatehouse does not know the outcome is unknown here too', async () => {
  const error = { code: 'outcome_unknown', message: 'It may have taken effect.' }
  const result = { content: [], structuredContent: { error }, isError: true }
  const one = await serverThat((response, id) => respond(response, 200, { jsonrpc: '2.0', id, result }))
  expect(await one.call('pay')).toMatchObject({ sent: true, lost: true, result: { isError: true } })
})

it.each([
  [302, true],
  [303, true],
  [307, false],
])('a call that is redirected by %i to another address: lost is %s', async (status, lost) => {
  const one = await serverThat((response) =>
    response.writeHead(status, { location: 'http://127.0.0.1:9/paid' }).end(),
  )
  expect(await one.call('pay')).toMatchObject({ sent: lost, lost, result: { isError: true } })
  expect(server!.calls).toHaveLength(1)
})
