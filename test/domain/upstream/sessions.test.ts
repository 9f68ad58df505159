/** Sessions that servers lose, and streams of notifications that they do not keep open. */
import type { ServerResponse } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { respond, startScriptedMcp, type Scripted, type ScriptedMcp } from '../../support/scripted-mcp.ts'
import { saveTo } from '../../support/upstream-services.ts'
import { forFile } from '../../support/for-file.ts'

let server: ScriptedMcp | null = null
const h = await forFile(openHarness())
afterEach(async () => {
  await server?.close()
  server = null
})

type Refusing = (response: ServerResponse, id: unknown) => void
const status = (code: number) => (response: ServerResponse) => void response.writeHead(code).end('gone')
const says =
  (message: string, code = -32000): Refusing =>
  (response, id) =>
    respond(response, 200, { jsonrpc: '2.0', id, error: { code, message } })

/** How a server refuses what comes in a session that it has lost. */
const refusals: [string, Refusing][] = [
  ...[400, 401, 403, 404, 410, 500, 502, 503].map((code): [string, Refusing] => [String(code), status(code)]),
  ['Session not found', says('Session not found')],
  [
    'an event that is only an error',
    (response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end('event: message\ndata: {"error":"Session not found"}\n\n'),
  ],
  ['Server not initialized', says('Bad Request: Server not initialized')],
  [
    'an error without id',
    (response) => respond(response, 200, { error: { code: -32600, message: 'Invalid session ID' } }),
  ],
  [
    '500 with an error',
    (response, id) => respond(response, 500, { id, error: { code: -32603, message: 'No session' } }),
  ],
  [
    'a page',
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>'),
  ],
  ['a connection that is reset', (response) => void response.socket?.destroy()],
]

it.each(refusals)(
  'the next call opens a new session after %s, and nothing runs twice',
  async (_name, refuse) => {
    let lost = ''
    const isLost = (session: unknown) => session === lost
    const done: unknown[] = []
    const lists: Scripted = (response, id, headers) =>
      isLost(headers['mcp-session-id']) ? refuse(response, id) : false
    server = await startScriptedMcp(
      (response, id, _nth, headers) => {
        if (isLost(headers['mcp-session-id'])) return refuse(response, id)
        done.push(headers['idempotency-key'])
        respond(response, 200, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'paid' }] } })
      },
      { 'tools/list': lists },
    )
    const one = await saveTo(h.app.services, server.url)
    await one.refresh()
    expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
    lost = `session-${server.opened()}`
    await one.call('pay')
    expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
    expect(new Set(done).size).toBe(done.length)
    expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
    // A refresh that meets the lost session itself opens another.
    lost = `session-${server.opened()}`
    expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
    expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
  },
)

it('an upstream that refuses every session is not called connected', async () => {
  let refuses = false
  const others: Record<string, Scripted> = {
    'tools/list': (response) => (refuses ? status(403)(response) : false),
  }
  server = await startScriptedMcp((response) => status(403)(response), others)
  const one = await saveTo(h.app.services, server.url)
  await one.refresh()
  refuses = true
  expect(await one.call('pay')).toMatchObject({ result: { isError: true } })
  const { status: shown } = await one.until((state) => state.status !== 'CONNECTED')
  expect(shown).toBe('DEGRADED')
})

/** The longest pause that the transport makes by itself. */
const longestSdkPauseMs = 1500

const streams: [string, Scripted][] = [
  ['ends at once', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
  ['answers JSON', (response) => respond(response, 200, { ok: true })],
  [
    'answers HTML',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>'),
  ],
  [
    'sends a comment and ends',
    (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n'),
  ],
]

it.each(streams)('a stream of notifications that %s is asked for ever more seldom', async (_name, get) => {
  let come = () => {}
  const fourth = new Promise<void>((resolve) => (come = resolve))
  const others: Record<string, Scripted> = {
    GET: (response, id, headers) => {
      get(response, id, headers)
      if (server!.streams.length === 4) come()
    },
  }
  server = await startScriptedMcp(
    (response, id) => respond(response, 200, { jsonrpc: '2.0', id, result: { content: [] } }),
    others,
  )
  const one = await saveTo(h.app.services, server.url)
  await one.refresh()
  await fourth
  const [third, last] = server.streams.slice(-2)
  expect(last! - third!).toBeGreaterThan(longestSdkPauseMs)
  expect(await one.call('pay')).toMatchObject({ result: { isError: false } })
})
