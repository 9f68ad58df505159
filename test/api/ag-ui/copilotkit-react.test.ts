/** A page of CopilotKit's React packages in a browser: its chat, its hooks for tools and for questions, and no runtime of its own. */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hasChromium, openChromium } from '../../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../../support/harness.ts'
import { copilotKitPackages } from '../../support/peers.ts'
import { makeCast, type Cast } from '../../support/story.ts'
import { servePage, type ServedPage } from '../../support/vite-page.ts'

// The packages are built while the first test waits for its page.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })
afterAll(() => vi.resetConfig())

describe.skipIf(!hasChromium || !copilotKitPackages)('a page of CopilotKit in React', () => {
  let h: Harness
  let cast: Cast
  let served: ServedPage
  let browser: Browser
  const agents: Record<string, string> = {}
  let threads = 0

  beforeAll(async () => {
    h = await openHarness()
    cast = await makeCast(h)
    agents['plain'] = await cast.agent({ name: 'plain' })
    agents['gated'] = await cast.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const made = await h.mutate(
      'createApiKey',
      { projectId: project.id, name: 'k', role: 'DEVELOPER' },
      'secret',
    )
    served = await servePage(join(import.meta.dirname, 'copilotkit-page'), {
      env: {
        PATH: process.env['PATH']!,
        GATEHOUSE_URL: h.url,
        GATEHOUSE_KEY: adminKey,
        FOREIGN_KEY: made['secret'],
      },
      packages: copilotKitPackages!,
    })
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await served?.close()
    await cast?.close()
    await h?.stop()
  })

  interface Chat {
    page: Page
    agent: string
    thread: string
  }

  async function open(agent: string, thread = `react ${++threads}`): Promise<Chat> {
    const page = await browser.newPage()
    page.setDefaultTimeout(30_000)
    const place = { agent, thread, runtime: '/copilotkit' }
    await page.goto(`${served.url}/?${new URLSearchParams(place)}`)
    return { page, agent, thread }
  }
  async function say({ page }: Chat, ...lines: string[]): Promise<void> {
    await page.getByRole('textbox').fill(lines.join('\n'))
    await page.keyboard.press('Enter')
  }
  /** The answer of the assistant, which is a paragraph of its own. */
  const answer = ({ page }: Chat, text: string) =>
    page.getByTestId('copilot-assistant-message').getByText(text, { exact: true }).last().waitFor()
  const press = ({ page }: Chat, name: string) => page.getByRole('button', { name, exact: true }).click()
  const seen = ({ page }: Chat) =>
    page.evaluate(() => {
      const { executed, errors } = window as unknown as { executed: string[]; errors: string[] }
      return { executed, errors }
    })
  const hits = (word: string) => cast.upstream.seen.filter(({ url }) => url.includes(word)).length
  async function runsOf({ agent, thread }: Chat) {
    const { data } = await h.gql(
      `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
        generations(first: 5) { nodes { status toolCalls { name status arguments } } } } } }`,
      { a: agents[agent], e: thread },
    )
    return data['threads'].nodes[0]?.generations.nodes ?? []
  }

  test('text comes as it is written, and the next message goes on in the thread', async () => {
    const chat = await open('plain')
    await say(chat, 'slow 60ms', 'say one two three four five six seven eight')
    await chat.page.getByText(/^one two/).waitFor()
    expect(await runsOf(chat)).toMatchObject([{ status: 'RUNNING' }])
    await answer(chat, 'one two three four five six seven eight')
    await say(chat, 'say again')
    await answer(chat, 'again')
    expect(await runsOf(chat)).toMatchObject([{ status: 'COMPLETED' }, { status: 'COMPLETED' }])
    expect(await seen(chat)).toEqual({ executed: [], errors: [] })
  })

  test('a call that runs here is shown, and runs once', async () => {
    const chat = await open('plain')
    await say(chat, 'call look {"word":"shown"}', 'then', 'say done')
    await answer(chat, 'done')
    await chat.page.getByText('look', { exact: true }).first().waitFor()
    expect([hits('shown'), await seen(chat)]).toEqual([1, { executed: [], errors: [] }])
  })

  test('a tool of the page is executed once, and the run goes on with its result', async () => {
    const chat = await open('plain')
    await say(chat, 'call locate {"word":"attic"}', 'then', 'say found')
    await answer(chat, 'found')
    expect(await seen(chat)).toEqual({ executed: ['attic'], errors: [] })
    expect(await runsOf(chat)).toMatchObject([
      { status: 'COMPLETED', toolCalls: [{ name: 'locate', status: 'SUCCEEDED' }] },
    ])
  })

  test.each([
    { button: 'Approve', ran: 1, edited: 0 },
    { button: 'Edit', ran: 0, edited: 1 },
    { button: 'Reject', ran: 0, edited: 0 },
    { button: 'Cancel', ran: 0, edited: 0 },
  ])('a question of the gate is answered with $button', async ({ button, ran, edited }) => {
    const chat = await open('gated')
    const [word, before] = [`asked${button}`, hits('edited')]
    await say(chat, `call look {"word":"${word}"}`, 'then', 'say done')
    await chat.page.getByText(`look {"word":"${word}"} waits:`).waitFor()
    expect(hits(word)).toBe(0)
    await press(chat, button)
    await answer(chat, 'done')
    expect([hits(word), hits('edited') - before]).toEqual([ran, edited])
    expect(await seen(chat)).toEqual({ executed: [], errors: [] })
  })

  test('a tool of the page is executed only after it was approved', async () => {
    const chat = await open('gated')
    await say(chat, 'call locate {"word":"cellar"}', 'then', 'say done')
    await chat.page.getByText('locate {"word":"cellar"} waits:').waitFor()
    expect((await seen(chat)).executed).toEqual([])
    await press(chat, 'Approve')
    await answer(chat, 'done')
    expect(await seen(chat)).toEqual({ executed: ['cellar'], errors: [] })
  })

  test('a page that is opened anew while a question waits is asked again, and the call runs once', async () => {
    const first = await open('gated')
    await say(first, 'call look {"word":"reopened"}', 'then', 'say done')
    await first.page.getByText('look {"word":"reopened"} waits:').waitFor()
    await first.page.close()
    const second = await open('gated', first.thread)
    await second.page.getByText('look {"word":"reopened"} waits:').waitFor()
    await press(second, 'Approve')
    await answer(second, 'done')
    expect([hits('reopened'), await seen(second)]).toEqual([1, { executed: [], errors: [] }])
    expect(await runsOf(second)).toMatchObject([{ status: 'COMPLETED' }])
  })

  test('a page that is loaded again in the middle of a text gets all of it', async () => {
    const chat = await open('plain')
    await say(chat, 'slow 120ms', 'say one two three four five six seven eight nine ten')
    await chat.page.getByText(/^one two/).waitFor()
    await chat.page.reload()
    await answer(chat, 'one two three four five six seven eight nine ten')
    expect(await runsOf(chat)).toMatchObject([{ status: 'COMPLETED' }])
  })

  test('a failed run is an error of the page, and a new message goes on', async () => {
    const chat = await open('plain')
    await say(chat, 'fail 400')
    await expect.poll(async () => (await seen(chat)).errors).not.toEqual([])
    expect(await runsOf(chat)).toMatchObject([{ status: 'FAILED' }])
    await say(chat, 'say better')
    await answer(chat, 'better')
  })

  test('the stop button cancels the run', async () => {
    const chat = await open('plain')
    await say(chat, 'slow 500ms', 'say one two three four five six seven eight nine ten eleven twelve')
    await chat.page.getByText(/^one/).waitFor()
    await chat.page.getByTestId('copilot-send-button').click()
    await expect.poll(() => runsOf(chat)).toMatchObject([{ status: 'CANCELLED' }])
    await say(chat, 'say on')
    await answer(chat, 'on')
  })

  test('a key of another project finds no agent, and starts nothing', async () => {
    const page = await browser.newPage()
    const thrown = page.waitForEvent('pageerror')
    const place = { agent: 'plain', thread: 'elsewhere', runtime: '/foreign/copilotkit' }
    await page.goto(`${served.url}/?${new URLSearchParams(place)}`)
    expect((await thrown).message).toMatch(/No agents registered/)
    expect(await runsOf({ page, ...place })).toEqual([])
  })
})
