/** A `subscriptions/listen` of a key that has as many streams as it may. */
import { expect, test } from 'vitest'
import { silentLog } from '../../../src/core/log.ts'
import { AppError } from '../../../src/core/errors.ts'
import { featuresOf } from '../../../src/domain/bridge/features.ts'
import { serveModernAgent } from '../../../src/api/mcp/agent/agent-eras.ts'
import { createChangeNotifications } from '../../../src/api/mcp/http/change-notifications.ts'
import type { ModernRequest } from '../../../src/api/mcp/http/agent-request.ts'
import { createOpenStreams } from '../../../src/api/mcp/http/mcp-runtime.ts'
import { envelope, modernProtocol } from '../../support/mcp-wire.ts'

test('is refused, and no stream is left that nobody reads', async () => {
  let watching = 0
  const changes = createChangeNotifications({
    watch() {
      watching++
      return () => void watching--
    },
  })
  let mayOpen = true
  const onRevoked = () => {
    if (!mayOpen) throw new AppError('LIMITED', 'too many streams')
    return () => {}
  }
  const streams = createOpenStreams({ revocations: { onRevoked, close: () => {} } })
  const subscriptions = { watch: () => () => {} }
  const params = { notifications: { toolsListChanged: true }, _meta: envelope() }
  const body = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': modernProtocol,
    'mcp-method': 'subscriptions/listen',
  }
  const request = {
    era: 'modern',
    runtime: { changes, streams, subscriptions, log: silentLog },
    ctx: { principal: { id: 'key_1' }, masterKey: Buffer.alloc(32) },
    agentId: 'agt_1',
    surface: { agent: { name: 'a', version: 1 }, features: featuresOf([], new Map()) },
    webRequest: () => new Request('http://localhost/mcp', { method: 'POST', headers }),
    http: { headers },
    body,
    message: body,
    ended: new AbortController().signal,
  } as unknown as ModernRequest
  const opened = await serveModernAgent(request)
  expect(watching).toBe(1)
  mayOpen = false
  await expect(serveModernAgent(request)).rejects.toThrow('too many streams')
  // What was begun in spite of the refusal has begun by the time at which a later one has.
  mayOpen = true
  const later = await serveModernAgent(request)
  expect(watching).toBe(2)
  streams.close()
  for (const reply of [opened, later]) if ('response' in reply) await reply.response.text()
  expect(watching).toBe(0)
})
