/** A call that was begun before a pause and whose connection opens after it is not sent, and waits for the end of it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { principalById } from '../../src/domain/access/index.ts'
import { callTool } from '../../src/domain/calls/index.ts'
import { createEgress } from '../../src/domain/egress/index.ts'
import { aroundStatements } from '../support/around-statements.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'

let h: Harness
let upstream: Loopback
beforeAll(async () => {
  upstream = await startLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  h = await openHarness()
})
afterAll(async () => {
  await h?.stop()
  await upstream?.close()
})

/** A promise and what resolves it. */
function signal<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => (resolve = done))
  return { promise, resolve: (value: T) => resolve(value) }
}

test('nothing is sent after the answer of pause, and the call is sent once when the pause has ended', async () => {
  const { data } = await h.gql('{ viewer { id } }')
  const principal = await principalById(h.app.services.db, data['viewer'].id, Date.now())
  const asked = signal<void>()
  const answered = signal<string[]>()
  const egress = createEgress(
    { allowPrivate: true, allowList: [] },
    {
      lookup: () => {
        asked.resolve()
        return answered.promise
      },
    },
  )
  const ctx = { ...h.app.ctxOf(principal!), egress }
  const url = `http://slow.test:${new URL(upstream.url).port}/pay`
  const config = { http: { url, inputSchema: { type: 'object' } } }
  const { tool } = await h.mutate('createTool', { name: 'slow', config }, 'tool { id }')
  const calling = callTool(ctx, { toolId: tool.id, arguments: {} })
  await asked.promise

  const { pause } = await h.mutate('pause', { toolId: tool.id }, 'pause { id }')
  const again = signal<void>()
  const stop = aroundStatements(h.app.services.leaseDb, async ({ text, execute }) => {
    const done = await execute()
    if (text.startsWith('select open_pause.id')) again.resolve()
    return done
  })
  answered.resolve(['127.0.0.1'])
  await again.promise
  stop()
  expect(upstream.seen).toEqual([])

  await h.mutate('resume', { pauseId: pause.id }, 'pause { id }')
  expect((await calling).status).toBe('SUCCEEDED')
  expect(upstream.seen).toHaveLength(1)
})
