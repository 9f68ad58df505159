/** Questions to clients of the old era. */
import { expect, test } from 'vitest'
import { createAsks } from '../../../src/api/mcp/asks.ts'
import type { Ctx } from '../../../src/domain/access/index.ts'
import { localPubSub } from '../../../src/store/events/pubsub.ts'

test('nobody waits for the answer of a client that has gone', async () => {
  const asks = createAsks({ pubsub: localPubSub(), masterKey: Buffer.alloc(32) })
  const ctx = { principal: { id: 'key_1' } } as Ctx
  const question = { method: 'elicitation/create', params: {} }
  const gone = AbortSignal.abort(new Error('hung up'))
  await expect(asks.put(ctx, 'session', question, async () => {}, gone)).rejects.toThrow('hung up')
})
