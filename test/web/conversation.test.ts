/** A run as a conversation in a real browser: who said what, what each call did, and who decided about it. */
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../support/fixtures.ts'
import { gateFixtures, type GateFixtures } from '../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { asking, makeAgent } from '../support/nested-fixtures.ts'

const megabyte = `${'A megabyte of text. '.repeat(50_000)}THE END`

describe.skipIf(!hasChromium)('the conversation of a run', { timeout: 180_000 }, () => {
  let h: Harness
  let fixtures: Fixtures
  let gate: GateFixtures
  let browser: Browser
  let large: Loopback

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    gate = gateFixtures(h, fixtures)
    browser = await openChromium()
    large = await startLoopback((_request, response) => void response.end(megabyte))
  })
  afterAll(async () => {
    await browser?.close()
    await large?.close()
    await fixtures?.close()
    await h?.stop()
  })

  const talk = (page: Page) => page.getByRole('list', { name: 'Conversation' })
  const card = (page: Page, tool: string) => page.getByRole('listitem', { name: `Call of ${tool}` })

  test('begins with the instructions and the user, and each call is a card that opens', async () => {
    const agent = await fixtures.agent({ name: 'guide', instructions: 'Answer in one word.' })
    const prompt = 'call look {"word":"sky"}\nthen\nsay Blue.'
    const id = await fixtures.start(agent, prompt)
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    await talk(page).getByText('Instructions of the agent').click()
    await talk(page).getByText('Answer in one word.').waitFor()
    await talk(page).getByText('User', { exact: true }).waitFor()
    await talk(page).getByText('call look').waitFor()
    await talk(page).getByText('Blue.', { exact: true }).waitFor()
    const look = card(page, 'look')
    await look.getByText('succeeded').waitFor()
    await look.getByText(/^\d+ ms$/).waitFor()
    expect(await look.getByText('/look/sky').count()).toBe(0)
    await look.getByText('Arguments', { exact: true }).click()
    await look.getByText('sky', { exact: true }).waitFor()
    await look.getByText('Result', { exact: true }).click()
    await look.getByText('/look/sky').first().waitFor()
    await check()
    await close()
  })

  test('marks up Markdown, and neither loads nor hides anything of it', async () => {
    const agent = await fixtures.agent({ name: 'scribe' })
    const prompt = [
      'say done',
      '# Refund **now**',
      'first line',
      'second line with [a bank](https://evil.example/login) and [code](javascript:alert(1))',
      '- one',
      '- ![a photo](https://tracker.example/p.png) <img src=x onerror="pwned=1">',
      'turned \u202Eround',
    ].join('\n\n')
    const id = await fixtures.start(agent, prompt)
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    const text = talk(page).locator('.prose').filter({ hasText: 'Refund' })
    await text.locator('strong').getByText('now').waitFor()
    const link = text.getByRole('link')
    expect(await link.count()).toBe(1)
    expect(await link.getAttribute('href')).toBe('https://evil.example/login')
    expect(await link.getAttribute('rel')).toBe('noreferrer')
    const shown = await text.innerText()
    for (const piece of ['(evil.example)', 'code', 'a photo', '<img src=x onerror="pwned=1">', 'U+202E'])
      expect(shown).toContain(piece)
    expect(await text.locator('img, h1').count()).toBe(0)
    await check()
    await close()
  })

  test('says who decided about a call, why, and what was changed', async () => {
    const pay = await gate.gated({ mode: 'ALWAYS' })
    const id = await gate.ask(pay, { amount: 9 })
    const [question] = await gate.pending(id)
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    const paid = card(page, pay.name)
    await paid.getByText('a person must decide').waitFor()
    await gate.decide(question!['id'], 'APPROVE', { arguments: { amount: 7 }, reason: 'nine is too much' })
    await paid.getByText('succeeded').waitFor()
    await paid.getByText('approved').waitFor()
    await paid.getByText('nine is too much').waitFor()
    await paid.getByText('With changes of: amount').waitFor()
    await check()
    await paid.getByRole('link', { name: 'the request' }).click()
    await page.waitForURL(`**/approvals/${question!['id']}`)
    await close()
  })

  test('leads to the run of an agent that was asked', async () => {
    const worker = await makeAgent(h, { name: 'worker' })
    const boss = await makeAgent(h, { name: 'boss', agentIds: [worker] })
    const id = await fixtures.start(boss, asking('worker', 'say I did it', 'back'))
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    await card(page, 'worker').getByText('Answered by a run of').waitFor()
    await check()
    await card(page, 'worker').getByRole('link', { name: 'worker' }).click()
    await page.getByRole('link', { name: 'Conversation' }).click()
    await talk(page).getByText('Parent agent').waitFor()
    await close()
  })

  test('shows a megabyte once and cut, and hands out all of it as a file', async () => {
    const inputSchema = objectSchema({ word: { type: 'string' } }, ['word'])
    const config = { http: { url: `${large.url}/large`, method: 'GET', inputSchema } }
    const { tool } = (await h.mutate('createTool', { name: 'large', config }, 'tool { id }')) as any
    const agent = await fixtures.agent({ name: 'reader', toolIds: [tool.id] })
    const id = await fixtures.start(agent, 'call large {"word":"x"}\nthen\nsay read')
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    const read = card(page, 'large')
    await read.getByText('Result', { exact: true }).click()
    await read.getByRole('button', { name: /^Show all/ }).click()
    expect((await read.innerText()).length).toBeLessThan(250_000)
    const download = page.waitForEvent('download')
    await read.getByRole('button', { name: 'Download all of it' }).click()
    expect(readFileSync(await (await download).path(), 'utf8')).toBe(megabyte)
    await read.getByRole('button', { name: 'Show less' }).click()
    await check()
    await close()
  })
})
