/** Behind the usual proxies, with the settings of their guides: requests, streams, sockets, MCP, pages and clients. */
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClient } from '../../client/index.ts'
import { openRaw } from '../api/graphql/raw-socket.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey } from '../support/harness.ts'
import { freePort } from '../support/processes.ts'
import {
  cutsIdle,
  hasProxy,
  passesSockets,
  proxies,
  startProxy,
  type ProxyName,
} from '../support/reverse-proxies.ts'
import { openShop } from '../support/web-fixtures.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A server that knows its public URL, behind the proxy. */
async function openBehind(name: ProxyName) {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const shop = await openShop({ config: { publicUrl: url, trustedProxies: ['127.0.0.1'] } })
  closers.push(() => shop.close())
  closers.push(await startProxy(name, port, `127.0.0.1:${new URL(shop.h.app.url).port}`))
  return { ...shop, url }
}

const authorization = `Bearer ${adminKey}`
const feed = 'subscription { projectEvents { type } }'

describe.each(Object.keys(proxies).filter((name) => hasProxy(name as ProxyName)) as ProxyName[])(
  '%s',
  (name) => {
    test('passes on requests, event streams and MCP of a page at the public URL', async () => {
      const { h, url } = await openBehind(name)
      const json = { authorization, origin: url, 'content-type': 'application/json' }
      const asked = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: json,
        body: '{"query":"{ viewer { id } }"}',
      })
      expect(await asked.json()).toMatchObject({ data: { viewer: { id: expect.any(String) as string } } })

      const stream = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...json, accept: 'text/event-stream' },
        body: JSON.stringify({ query: feed }),
      })
      const events = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
      // It arrives although the stream goes on: nothing on the way waits for its end.
      await h.mutate('createAgent', { name: 'a' }, 'agent { id }')
      for (let text = ''; !text.includes('AGENT_CREATED');) {
        const { value, done } = await events.read()
        if (done) throw new Error(`The stream ended: ${text}`)
        text += value
      }
      await events.cancel()

      const initialize = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'page', version: '1' },
      }
      const mcp = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { ...json, accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize }),
      })
      expect(mcp.status).toBe(200)
    })

    test.runIf(passesSockets(name))('passes on sockets of a page at the public URL', async () => {
      const { h, url } = await openBehind(name)
      const socket = await openRaw(url, { headers: { origin: url } })
      socket.send({ type: 'connection_init', payload: { authorization } })
      await socket.next(({ type }) => type === 'connection_ack')
      socket.send({ id: '1', type: 'subscribe', payload: { query: feed } })
      socket.send({ id: '2', type: 'subscribe', payload: { query: '{ viewer { id } }' } })
      await socket.next(({ id }) => id === '2')
      await h.mutate('createAgent', { name: 'a' }, 'agent { id }')
      expect(await socket.next(({ id }) => id === '1')).toMatchObject({ type: 'next' })
      socket.ws.close()
      await expect(openRaw(url, { headers: { origin: 'https://evil.example' } })).rejects.toThrow('403')
    })

    test.runIf(hasChromium)(
      'a page shows each new question, and says nothing of its connection',
      async () => {
        const { h, url, refundId } = await openBehind(name)
        const tab = await visit(await openChromium(), { url }, '/approvals', {
          expected: passesSockets(name) ? /^$/ : /WebSocket connection to/,
        })
        closers.push(() => tab.close())
        await tab.page.locator('.question-row, .empty').first().waitFor()
        for (let n = 0; n < 3; n++) {
          const shown = tab.page.locator('.question-row').nth(n).waitFor()
          const asked = performance.now()
          const input = { toolId: refundId, arguments: { order_id: `A-${n}`, amount: 5 } }
          await h.mutate('callTool', input, 'toolCall { id }')
          await shown
          console.log(
            `${name}: question ${n + 1} on the screen after ${Math.round(performance.now() - asked)} ms`,
          )
        }
        await expect.poll(() => tab.page.getByText('Connecting again').count()).toBe(0)
        expect(tab.faults).toEqual([])
      },
    )

    test('a client that follows the project misses nothing', async () => {
      const { h, url } = await openBehind(name)
      let cut = () => {}
      const isCut = new Promise<void>((resolve) => (cut = resolve))
      const webSocket = passesSockets(name) ? WebSocket : null
      const client = createClient({ url, key: adminKey, webSocket, onRetry: () => cut() })
      closers.push(() => client.close())
      const heard = (async () => {
        const ids: string[] = []
        for await (const { type, cursor } of client.projectEvents({ after: '0' })) {
          if (type === 'AGENT_CREATED') ids.push(cursor)
          if (ids.length === 11) return ids
        }
        return ids
      })()
      for (let n = 0; n < 10; n++) {
        await h.mutate('createAgent', { name: `agent-${n}` }, 'agent { id }')
        if (n === 5 && cutsIdle(name)) await isCut
      }
      const ids = await heard
      expect(new Set(ids).size).toBe(11)
    })
  },
)
