/**
 * kill -9 while a page of AG-UI reads a run, or is asked: the page comes back to the process that comes next with the
 * messages that it has, gets the rest once, and no call is executed twice.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openAgent, said, shown, type HttpAgent } from '../api/protocols/ag-ui/clients.ts'
import { ask } from '../support/ask.ts'
import { describeWithPeers } from '../support/peers.ts'
import { dose } from '../support/dose.ts'
import { first, key, kinds, prompt, second, startKillable, type Killable } from './killable.ts'

describeWithPeers.each(kinds)('on %s', (kind) => {
  let server: Killable
  beforeAll(async () => {
    // The client prints that its connection was lost.
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    server = await startKillable(kind)
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    await server?.close()
  })

  const open = (agent: string, page?: HttpAgent) =>
    openAgent(server.url(), key, agent, page && { threadId: page.threadId, messages: page.messages })
  const restart = async () => {
    await server.kill()
    await server.start()
  }
  /** The calls of all runs of the thread: there is one run. */
  const callsOf = async (page: HttpAgent, agent: keyof Killable['agents']) => {
    const query = `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
      generations(first: 5) { nodes { status toolCalls { name status } } } } } }`
    const { data } = await ask(server.url(), key, query, { a: server.agents[agent], e: page.threadId })
    const runs = data['threads'].nodes[0].generations.nodes
    expect(runs).toHaveLength(1)
    return runs[0].toolCalls
  }

  type Place = 'in the first text' | 'after the call' | 'in the second text'
  const places: Record<Place, (page: HttpAgent) => boolean> = {
    'in the first text': (page) => textsOf(page)[0]?.includes('charlie') ?? false,
    'after the call': (page) => page.messages.some(({ role }) => role === 'tool'),
    'in the second text': (page) => textsOf(page)[1]?.includes('mike') ?? false,
  }
  test.each(Object.entries(places).slice(-dose(1, 3)))(
    'killed %s',
    { timeout: 180_000 },
    async (_where, isPlace) => {
      const before = server.paid()
      const page = await open('teller')
      page.addMessage(said(prompt))
      let killed: Promise<void> | undefined
      const reached = () => {
        if (killed || !isPlace(page)) return
        killed = server.kill()
        // Its promise of the body that breaks off has no handler in the client.
        page.abortRun()
      }
      await page.runAgent({}, { onMessagesChanged: reached }).catch(() => null)
      await killed
      expect(killed, 'the run was cut off').toBeDefined()
      await server.start()
      const next = await open('teller', page)
      await next.runAgent()
      const texts = textsOf(next)
      // Text that was given up with the process stays on the page, under an id of its own; the rest is there once.
      expect(texts.filter((text) => text === first)).toHaveLength(1)
      expect(texts.at(-1)).toBe(second)
      for (const text of texts) expect(first.startsWith(text) || second.startsWith(text), text).toBe(true)
      expect(next.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
      expect(await callsOf(next, 'teller')).toEqual([{ name: 'pay', status: 'SUCCEEDED' }])
      expect(server.paid() - before).toBe(1)
      const again = await open('teller', next)
      expect((await again.runAgent()).newMessages).toEqual([])
    },
  )

  test('killed while the page is asked for a verdict: the call runs once', { timeout: 180_000 }, async () => {
    const before = server.paid()
    const page = await open('careful')
    page.addMessage(said('call pay {}\nthen\nsay paid'))
    await page.runAgent()
    await restart()
    const next = await open('careful', page)
    await next.runAgent()
    expect(next.pendingInterrupts).toEqual(page.pendingInterrupts)
    const [{ id }] = next.pendingInterrupts as [{ id: string }]
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }]
    await next.runAgent({ resume })
    expect(shown(next).at(-1)).toEqual(['assistant', 'paid'])
    await restart()
    // A page that lost the answer gives the same verdict again, and gets the same rest.
    const lost = await open('careful', page)
    await lost.runAgent()
    expect(shown(lost)).toEqual(shown(next))
    expect(server.paid() - before).toBe(1)
  })

  test('killed while the page runs a tool: its result is taken once', { timeout: 180_000 }, async () => {
    const page = await open('teller')
    page.addMessage(said('call ask {}\nthen\nsay done'))
    await page.runAgent()
    const [{ id: toolCallId }] = page.messages.at(-1)!['toolCalls']
    await restart()
    const result = { id: 'result', role: 'tool', toolCallId, content: 'yes' }
    page.addMessage(result)
    const next = await open('teller', page)
    const sent = next.runAgent().catch(() => null)
    await server.kill()
    await sent
    await server.start()
    const last = await open('teller', page)
    await last.runAgent()
    expect(shown(last).at(-1)).toEqual(['assistant', 'done'])
    expect(await callsOf(last, 'teller')).toEqual([{ name: 'ask', status: 'SUCCEEDED' }])
  })
})

const textsOf = ({ messages }: HttpAgent): string[] =>
  messages.flatMap(({ role, content }) => (role === 'assistant' && content ? [content as string] : []))
