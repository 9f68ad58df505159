/** Requests of the server to legacy clients. */
import { expect, test } from 'vitest'
import { createServerRequests } from '../../../src/api/mcp/http/server-requests.ts'
import type { Ctx } from '../../../src/domain/access/index.ts'
import { localPubSub } from '../../../src/store/pubsub/pubsub.ts'

const serverRequests = createServerRequests({ pubsub: localPubSub(), masterKey: Buffer.alloc(32) })
let revoke = () => {}
const onRevoked = (_of: unknown, end: () => void) => {
  revoke = end
  return () => void (revoke = () => {})
}
const ctx = { principal: { id: 'key_1' }, revocations: { onRevoked } } as unknown as Ctx
const request = { method: 'elicitation/create', params: {} }

test('a request to a client that has disconnected is rejected at once', async () => {
  const disconnected = AbortSignal.abort(new Error('hung up'))
  const sent = serverRequests.send(ctx, { id: 'session' }, request, async () => {}, disconnected)
  await expect(sent).rejects.toThrow('hung up')
})

test('a client whose key is revoked is not waited for', async () => {
  const { signal } = new AbortController()
  const sent = serverRequests.send(ctx, { id: 'session' }, request, async () => revoke(), signal)
  await expect(sent).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
})
