/**
 * Streams of chats, of AG-UI and of A2A that are cut after each of their events, and resumed: the page shows every part once, the
 * run goes on by itself, and its tool runs once. Judged by the clients of each.
 */
import type { StreamResponse } from '@a2a-js/sdk'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminKey, type Harness, openHarness } from '../../../support/harness.ts'
import { peerTest } from '../../../support/peers.ts'
import { type Fixtures, makeFixtures } from '../../../support/fixtures.ts'
import { openAgent, said, shown } from '../ag-ui/clients.ts'
import { foldStream, message, ofTask, openClient, stateOf, textsOf } from '../a2a/clients.ts'
import { openChat, partsOf } from '../chat/front-end.ts'

/** Also while a test replaces that of the page. */
const realFetch = globalThis.fetch

interface CutFetch {
  fetch: typeof fetch
  /** Whether a stream was broken; else it had ended before. */
  wasCut(): boolean
}

/**
 * Breaks the first stream after `events` events; what is no stream of events, and later ones, come whole. `as`: whether the
 * client sees an error, or an end that came too early, as behind some proxies.
 */
function cutAfter(events: number, as: 'error' | 'end' = 'error'): CutFetch {
  let cut = false
  let isFirst = true
  return {
    wasCut: () => cut,
    async fetch(input, init) {
      const response = await realFetch(input, init)
      if (
        !isFirst ||
        !response.body ||
        !response.headers.get('content-type')?.startsWith('text/event-stream')
      )
        return response
      isFirst = false
      let left = events
      let rest = ''
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          for (;;) {
            const end = rest.indexOf('\n\n') + 2
            if (left === 0) {
              cut = true
              await reader.cancel()
              return as === 'end' ? controller.close() : controller.error(new TypeError('terminated'))
            }
            if (end > 1) {
              controller.enqueue(new TextEncoder().encode(rest.slice(0, end)))
              rest = rest.slice(end)
              left--
              return
            }
            const { done, value } = await reader.read()
            if (done) return controller.close()
            rest += value
          }
        },
      })
      const { status, headers } = response
      return new Response(body, { status, headers })
    },
  }
}

let h: Harness
let fixtures: Fixtures
beforeAll(async () => {
  // The clients print the errors that these tests are about.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  h = await openHarness()
  fixtures = await makeFixtures(h)
  await fixtures.agent({ name: 'plain' })
})
afterAll(async () => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  await fixtures?.close()
  await h?.stop()
})

const before = 'one two three four'
const after = 'five six seven'
const promptOf = (word: string) =>
  `slow 3ms\nsay ${before}\ncall act {"word":"${word}"}\nthen\nslow 3ms\nsay ${after}`
const acted = (word: string) => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${word}"`)).length
/** More events than a stream has. */
const most = 200

test('a chat of the AI SDK, cut after each event', { timeout: 180_000 }, async () => {
  let cuts = 0
  for (let events = 0; events < most; events++) {
    const word = `chat ${events}`
    const cut = cutAfter(events)
    const chat = openChat(h.url, adminKey, 'plain', { fetch: cut.fetch })
    await chat.sendMessage({ text: promptOf(word) })
    if (!cut.wasCut()) break
    cuts++
    const page = openChat(h.url, adminKey, 'plain', { id: chat.id, messages: chat.messages })
    await page.resumeStream()
    expect(page.error, word).toBeUndefined()
    expect(partsOf(page), word).toEqual([
      'step-start',
      before,
      'tool-act output-available',
      'step-start',
      after,
    ])
    expect(page.messages, word).toHaveLength(2)
    expect(acted(word), word).toBe(1)
  }
  expect(cuts).toBeGreaterThan(12)
})

peerTest('a run of AG-UI, cut after each event', { timeout: 180_000 }, async () => {
  let cuts = 0
  for (let events = 0; events < most; events++) {
    const word = `ag-ui ${events}`
    // Its client handles the error of a broken stream twice, and once not at all.
    const cut = cutAfter(events, 'end')
    const agent = await openAgent(h.url, adminKey, 'plain', { threadId: word })
    agent.addMessage(said(promptOf(word)))
    // Its client takes the fetch of the page.
    vi.stubGlobal('fetch', cut.fetch)
    await agent.runAgent().catch(() => null)
    vi.unstubAllGlobals()
    if (!cut.wasCut()) break
    cuts++
    const page = await openAgent(h.url, adminKey, 'plain', { threadId: word, messages: agent.messages })
    await page.runAgent()
    expect(shown(page).slice(1), word).toEqual([
      ['assistant', before, `act {"word":"${word}"}`],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', after],
    ])
    expect(acted(word), word).toBe(1)
  }
  expect(cuts).toBeGreaterThan(12)
})

test('a task of A2A, cut after each event', { timeout: 180_000 }, async () => {
  let cuts = 0
  for (let events = 0; events < most; events++) {
    const word = `a2a ${events}`
    const cut = cutAfter(events)
    const request = message(promptOf(word))
    const got: StreamResponse[] = []
    const read = async (stream: AsyncIterable<StreamResponse>) => {
      for await (const event of stream) got.push(event)
    }
    const client = await openClient(h.url, 'plain', adminKey, cut.fetch)
    await read(client.sendMessageStream(request)).catch(() => null)
    if (!cut.wasCut()) break
    cuts++
    const next = await openClient(h.url, 'plain', adminKey)
    // Without a task the message itself finds it again; a task that has ended has no stream any more.
    const { id } = foldStream(got)
    await read(id ? next.resubscribeTask({ tenant: '', id }) : next.sendMessageStream(request)).catch(
      () => null,
    )
    const task = await next.getTask(ofTask(foldStream(got).id))
    expect(stateOf(task), word).toBe('COMPLETED')
    expect(textsOf(task), word).toEqual({ 'text-1': before, 'text-2': after })
    if (foldStream(got).states.at(-1) === 'COMPLETED')
      expect(foldStream(got).texts, word).toEqual(textsOf(task))
    expect(acted(word), word).toBe(1)
  }
  expect(cuts).toBeGreaterThan(5)
})
