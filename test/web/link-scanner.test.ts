/** A link scanner of a mail system: a real browser that opens every link, presses every button and submits every form. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasChromium, openChromium } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { openLinkFixtures, type LinkFixtures } from '../support/link-fixtures.ts'

let h: Harness
let fixtures: LinkFixtures
let browser: Browser
beforeAll(async () => {
  if (!hasChromium) return
  h = await openHarness()
  fixtures = await openLinkFixtures(h)
  browser = await openChromium()
})
afterAll(async () => {
  await browser?.close()
  await fixtures?.close()
  await h?.stop()
})

const junk = ['', 'test', 'test1234', '12345678', 'a@b.example', 'AAAAAAAA']

/** Opens the link and follows it; then does this to the page. Each time in a page of its own, as scanners do. */
async function visit(url: string, act: (page: Page) => Promise<unknown>): Promise<void> {
  const page = await browser.newPage()
  page.setDefaultTimeout(120_000)
  try {
    await page.goto(url, { waitUntil: 'load' })
    await act(page)
    await page.waitForLoadState('load')
  } finally {
    await page.close()
  }
}

/** Fills every field and submits every form, with each of its buttons and with none, around what browsers check. */
async function submitAll(url: string, text: string): Promise<void> {
  let count = 0
  await visit(url, async (page) => (count = await page.locator('form').count()))
  for (let form = 0; form < count; form++)
    for (const button of [null, 0, 1, 2, 3])
      await visit(url, (page) =>
        page.evaluate(
          ([nth, which, typed]) => {
            type Field = { value: string; disabled: boolean }
            type Form = {
              noValidate: boolean
              submit(): void
              requestSubmit(by: unknown): void
              querySelectorAll(q: string): Iterable<Field>
            }
            const dom = (globalThis as any).document as { forms: Form[] }
            const one = dom.forms[nth as number]!
            one.noValidate = true
            for (const field of one.querySelectorAll('input, textarea')) field.value = typed as string
            const by = [...one.querySelectorAll('button')][(which as number) ?? -1]
            if (by) by.disabled = false
            if (by) one.requestSubmit(by)
            else one.submit()
          },
          [form, button, text] as const,
        ),
      ).catch(() => {})
}

test.skipIf(!hasChromium)(
  'whatever a scanner opens, presses and submits, nothing is decided; then the person with the code decides',
  { timeout: 720_000 },
  async () => {
    const { approvalId, callId, links } = await fixtures.question()
    const message = fixtures.receiver.received.find(({ data }) => data['approvalId'] === approvalId)!
    const urls = [...new Set(message.raw.match(/https?:\/\/[^"\s]+/g))]
    expect(urls).toHaveLength(3)
    for (const url of urls) {
      for (const method of ['HEAD', 'GET', 'OPTIONS', 'PUT', 'POST']) await fetch(url, { method })
      await visit(url, async (page) => {
        const buttons = await page.locator('button, a, input[type=submit]').all()
        for (const button of buttons) await button.click({ force: true, timeout: 1000 }).catch(() => {})
      })
    }
    const [link] = links
    for (const text of junk) await submitAll(link!.url, text)
    expect(await fixtures.gate.approval(approvalId)).toMatchObject({ status: 'PENDING', votes: [] })

    await visit(link!.url, async (page) => {
      await page.getByLabel('Code').fill(link!.code)
      // Enter in the field of the code decides nothing.
      await page.getByLabel('Code').press('Enter')
      expect(await page.getByRole('heading').textContent()).toBe('Your decision')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByRole('heading', { name: 'Approved' }).waitFor()
    })
    expect((await fixtures.gate.untilCall(callId, ['SUCCEEDED']))['status']).toBe('SUCCEEDED')
    expect((await fixtures.gate.approval(approvalId))['votes']).toMatchObject([
      { by: fixtures.people[0]!.id, verdict: 'APPROVE' },
    ])
  },
)
