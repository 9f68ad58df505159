/**
 * Streams of chats and of AG-UI that are cut after each of their events, and resumed: the page shows every part once, the
 * run goes on by itself, and its tool runs once. Judged by the clients of both.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { cutAfter } from '../../../support/cut-stream.ts'
import { peerTest } from '../../../support/peers.ts'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'
import { openAgent, said, shown } from '../ag-ui/clients.ts'
import { openChat, partsOf } from '../chat/front-end.ts'

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
