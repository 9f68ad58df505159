/** The reference server over both legacy transports: discovered, listed, called, killed and recovered. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { hasPeers } from '../../support/peers.ts'
import { saveTo, type Saved } from '../../support/upstream-services.ts'
import { startEverything, type RunningServer } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())

describe.skipIf(!hasPeers).each(['streamableHttp', 'sse'] as const)(
  'server-everything over %s',
  (transport) => {
    let server: RunningServer
    let one: Saved
    beforeAll(async () => {
      server = await startEverything(transport)
      one = await saveTo(h.app.services, server.url)
    })
    afterAll(() => server.kill())

    it('is discovered: protocol, transport, tools, prompts and resources', async () => {
      const state = await one.refresh()
      expect(state).toMatchObject({
        status: 'CONNECTED',
        era: 'legacy',
        transport: transport === 'sse' ? 'sse' : 'streamable-http',
        error: null,
      })
      const { catalog } = await one.state()
      expect(catalog.server?.name).toBe('mcp-servers/everything')
      expect(catalog.tools.map((tool) => tool.name)).toContain('get-sum')
      expect(catalog.tools.find((tool) => tool.name === 'get-sum')).toMatchObject({
        inputSchema: { type: 'object', required: ['a', 'b'] },
      })
      expect(catalog.prompts.length).toBeGreaterThan(0)
      expect(catalog.resources.length).toBeGreaterThan(0)
      expect(catalog.resourceTemplates.length).toBeGreaterThan(0)
      expect(await one.events()).toEqual([
        { type: 'UPSTREAM_STATUS', data: { toolId: one.id, status: 'CONNECTED', code: null } },
        expect.objectContaining({ type: 'UPSTREAM_CHANGED' }),
      ])
    })

    it('returns every kind of content unchanged', async () => {
      expect(await one.call('echo', { message: 'hello' })).toEqual({
        result: { content: [{ type: 'text', text: 'Echo: hello' }], isError: false },
        sent: true,
        lost: false,
      })
      const image = await one.call('get-tiny-image')
      expect(image.result.content.map((block: any) => block.type)).toEqual(['text', 'image', 'text'])
      const link = await one.call('get-resource-links', { count: 2 })
      expect(link.result.content.map((block: any) => block.type)).toContain('resource_link')
      const resource = await one.call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })
      expect(resource.result.content.map((block: any) => block.type)).toContain('resource')
      const structured = await one.call('get-structured-content', { location: 'New York' })
      expect(structured.result.structuredContent).toMatchObject({ temperature: expect.any(Number) })
      const annotated = await one.call('get-annotated-message', { messageType: 'error', includeImage: false })
      expect(annotated.result.content[0].annotations).toMatchObject({ priority: 1 })
    })

    it("returns the server's refusal of invalid arguments and unknown tools as errors of the tool", async () => {
      const bad = await one.call('get-sum', { a: 'x' })
      expect(bad.result.isError).toBe(true)
      const unknown = await one.call('no-such-tool')
      expect(unknown.result.isError).toBe(true)
      expect(JSON.stringify(unknown.result.content)).toContain('no-such-tool')
    })

    it('relays progress, and each call has its own timeout', async () => {
      const seen: number[] = []
      const done = await one.call(
        'trigger-long-running-operation',
        { duration: 0.3, steps: 3 },
        { onProgress: ({ progress }) => seen.push(progress) },
      )
      expect(done.result.isError).toBe(false)
      expect(seen).toEqual([1, 2, 3])
      const late = await one.call(
        'trigger-long-running-operation',
        { duration: 5, steps: 50 },
        { timeoutMs: 300 },
      )
      expect(late).toMatchObject({
        sent: true,
        result: { isError: true, structuredContent: { error: { code: 'timeout', sent: true } } },
      })
    })

    it('ends a call that its caller cancels', async () => {
      const stop = new AbortController()
      const call = one.call(
        'trigger-long-running-operation',
        { duration: 20, steps: 100 },
        { signal: stop.signal, onProgress: () => stop.abort() },
      )
      expect(await call).toMatchObject({ result: { structuredContent: { error: { code: 'cancelled' } } } })
    })

    it('reports clearly when the server dies during a call, and recovers when it is back', async () => {
      let killed: Promise<void> | null = null
      const broken = await one.call(
        'trigger-long-running-operation',
        { duration: 20, steps: 100 },
        { timeoutMs: 60_000, onProgress: () => (killed ??= server.kill()) },
      )
      expect(broken).toMatchObject({
        sent: true,
        result: { isError: true, structuredContent: { error: { code: 'connection_lost' } } },
      })
      await killed
      const dead = await one.call('echo', { message: 'anyone?' })
      expect(dead).toMatchObject({ sent: false, result: { isError: true } })
      expect(await one.refresh()).toMatchObject({ status: 'DEGRADED', error: { code: 'unreachable' } })
      expect((await one.state()).catalog.tools.length).toBeGreaterThan(5)
      await server.restart()
      expect(await one.refresh()).toMatchObject({ status: 'CONNECTED', error: null })
      expect(await one.call('echo', { message: 'back' })).toMatchObject({ result: { isError: false } })
    })

    it('opens a new session when the server has lost the old one', async () => {
      await one.call('echo', { message: 'a session' })
      await server.restart()
      expect(await one.call('echo', { message: 'again' })).toMatchObject({
        result: { content: [{ text: 'Echo: again' }], isError: false },
      })
    })
  },
)
