/** Requests of the server to legacy clients. */
import { expect, test } from 'vitest'
import { createServerRequests } from '../../../src/api/mcp/server-requests.ts'
import type { Ctx } from '../../../src/domain/access/index.ts'
import { localPubSub } from '../../../src/store/events/pubsub.ts'

test('a request to a client that has disconnected is rejected at once', async () => {
  const serverRequests = createServerRequests({ pubsub: localPubSub(), masterKey: Buffer.alloc(32) })
  const ctx = { principal: { id: 'key_1' } } as Ctx
  const request = { method: 'elicitation/create', params: {} }
  const disconnected = AbortSignal.abort(new Error('hung up'))
  const sent = serverRequests.send(ctx, { id: 'session' }, request, async () => {}, disconnected)
  await expect(sent).rejects.toThrow('hung up')
})
