/** Journeys of people at the gate, in a real browser: decide, edit, together, too late, with the keyboard, on a phone. */
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { objectSchema } from '../support/fixtures.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('the inbox', { timeout: 180_000 }, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop({ isDestructive: true })
  })
  afterEach(() => shop.settle())
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  test('a question is asked, stands on the screen, and a person approves it with two presses', async () => {
    const tab = await visit(browser, shop.h, '/approvals')
    const { page } = tab
    await page.getByText('Nothing waits for you').waitFor()
    const asked = await shop.ask('A-17', 250, { card: '4111 1111', note: 'broken on arrival' })
    await page.getByRole('link', { name: /Send a refund/ }).click()
    await page.getByRole('heading', { name: 'Send a refund' }).waitFor()
    expect(await page.getByLabel('Arguments', { exact: true }).innerText()).toContain('A-17')
    expect(await page.locator('main').innerText()).not.toContain('4111')
    // Armed, as a reviewer sees it after a moment.
    await page.locator('.danger:enabled').waitFor()
    await picture(tab, 'inbox-question')
    await tab.check()
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await page.getByText('Approved: ').waitFor()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    expect(await shop.approval(asked.approvalId)).toMatchObject({ status: 'APPROVED' })
    expect(JSON.parse(shop.till.seen.at(-1)!.body)).toMatchObject({ card: '4111 1111', currency: 'EUR' })
    await page.getByText('Nothing waits for you').waitFor()
    await tab.check()
    await tab.close()
  })

  test('one person is on a question and gets longer time, and another sees both at once and may decide all the same', async () => {
    const asked = await shop.ask('A-18')
    const [ann, ben] = [await shop.person('Ann'), await shop.person('Ben')]
    const one = await visit(browser, shop.h, `/approvals/${asked.approvalId}`, { key: ann.secret })
    const two = await visit(browser, shop.h, `/approvals/${asked.approvalId}`, { key: ben.secret })
    for (const { page } of [one, two]) await page.locator('.verdict-more > summary').click()
    await two.page.getByRole('button', { name: 'I am on it' }).waitFor()
    await one.page.getByRole('button', { name: 'I am on it' }).click()
    await one.page.getByText('You are on it').waitFor()
    await two.page.getByRole('status').getByText('Ann is on it').waitFor()
    await two.page.getByRole('link', { name: /Ann is on it/ }).waitFor()
    await two.check()
    await one.page.getByRole('button', { name: 'One more hour' }).click()
    await two.page
      .getByText(/^1 h \d+ min$/)
      .first()
      .waitFor()
    await one.page.getByRole('button', { name: 'Release' }).click()
    await two.page.getByRole('button', { name: 'I am on it' }).waitFor()
    await one.page.getByRole('button', { name: 'I am on it' }).click()
    await two.page.getByRole('status').getByText('Ann is on it').waitFor()
    await one.check()
    await two.page.getByRole('button', { name: /^Approve/ }).click()
    await two.page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    expect(one.faults).toEqual([])
    expect(two.faults).toEqual([])
    await one.close()
    await two.close()
  })

  test('an edit is sent as it was shown, and what was hidden stays what it was', async () => {
    const asked = await shop.ask('B-1', 900, { card: '4222 2222' })
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    await page.locator('.danger:enabled').waitFor()
    await page.keyboard.press('e')
    const form = page.getByLabel('Edit the arguments')
    await form.getByRole('textbox', { name: 'amount' }).waitFor()
    // In the text of the same, keys that are typed are text and decide nothing.
    await form.getByRole('button', { name: 'As JSON' }).click()
    const editor = page.getByRole('textbox', { name: 'Arguments to send as JSON' })
    await editor.waitFor()
    await editor.press('Control+Home')
    await page.keyboard.type('jkx')
    await page.getByText(/Unexpected token/).waitFor()
    expect(await page.getByRole('button', { name: /^Approve/ }).isDisabled()).toBe(true)
    for (const _ of 'jkx') await page.keyboard.press('Backspace')
    expect(await editor.innerText()).toContain('[masked]')
    await form.getByRole('button', { name: 'As a form' }).click()
    await form.getByRole('textbox', { name: 'amount' }).fill('90')
    await page.getByLabel('Changes').getByText('amount').waitFor()
    await picture(tab, 'inbox-edit')
    await tab.check()
    await page.getByRole('button', { name: /Approve with changes/ }).click()
    await page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await page.getByText('Approved: ').waitFor()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    expect(JSON.parse(shop.till.seen.at(-1)!.body)).toEqual({
      order_id: 'B-1',
      amount: 90,
      card: '4222 2222',
      currency: 'EUR',
    })
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('two people look at one question: the second sees who decided, and cannot decide again', async () => {
    const [ann, bob] = [await shop.person('Ann'), await shop.person('Bob')]
    const asked = await shop.ask('C-1')
    const [first, second] = await Promise.all(
      [ann, bob].map(({ secret }) =>
        visit(browser, shop.h, `/approvals/${asked.approvalId}`, { key: secret }),
      ),
    )
    await second!.page.getByRole('button', { name: /^Reject/ }).waitFor()
    await first!.page.getByLabel('Reason (sent to the model)').fill('not this one')
    await first!.page.getByRole('button', { name: /^Reject/ }).click()
    const outcome = second!.page.getByRole('status', { name: 'Outcome' })
    await outcome.getByText('rejected').waitFor()
    expect(await outcome.innerText()).toContain('Ann')
    expect(await second!.page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
    expect(await shop.approval(asked.approvalId)).toMatchObject({
      status: 'REJECTED',
      votes: [{ byName: 'Ann', verdict: 'REJECT', reason: 'not this one' }],
    })
    for (const tab of [first!, second!]) {
      await tab.check()
      await tab.close()
    }
  })

  test('who is second is told that the verdict did not count, and whose did', async () => {
    const ann = await shop.person('Ann')
    const asked = await shop.ask('C-2')
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    // Ann rejects while the approval of this person is on its way.
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('mutation Decide')) {
        const input = { approvalId: asked.approvalId, verdict: 'REJECT' }
        await shop.h.mutate('decideApproval', input, 'approval { id }', ann.secret)
      }
      await route.continue()
    })
    await page.locator('.danger:enabled').waitFor()
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await page.getByText('Your approval did not count: it was rejected before by Ann.').waitFor()
    await page.getByRole('status', { name: 'Outcome' }).getByText('rejected').waitFor()
    expect(await shop.approval(asked.approvalId)).toMatchObject({ votes: [{ byName: 'Ann' }] })
    await page.unroute('**/graphql')
    await tab.check()
    await tab.close()
  })

  test('the buttons are on the screen however long the question is, on a phone too', async () => {
    const note = Array.from({ length: 60 }, (_, i) => `line ${i}`).join('\n')
    const asked = await shop.ask('C-3', 250, { note })
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    const before = page.viewportSize()!
    for (const size of [
      { width: 390, height: 844 },
      { width: 1280, height: 500 },
    ]) {
      await page.setViewportSize(size)
      const approve = page.getByRole('button', { name: /^Approve/ })
      await approve.waitFor()
      await page.evaluate(() => window.scrollTo(0, 0))
      const box = (await approve.boundingBox())!
      expect(box.y + box.height).toBeLessThanOrEqual(size.height)
      // Nothing lies over it.
      expect(
        await approve.evaluate((button) => {
          const { x, y, width, height } = button.getBoundingClientRect()
          return button.contains(document.elementFromPoint(x + width / 2, y + height / 2))
        }),
      ).toBe(true)
    }
    await page.setViewportSize(before)
    await tab.check()
    await tab.close()
  })

  test('the sheet says what is asked, by whom, and why, with every argument in the order of its schema', async () => {
    const shown = await openShop({ gate: { title: 'Refund {amount} euros for order {order_id}' } })
    try {
      const asked = await shown.ask('S-1', 250, { note: 'to p\u0430ypal \u202Eevil 👨‍👩‍👧' })
      const tab = await visit(browser, shown.h, `/approvals/${asked.approvalId}`)
      const { page } = tab
      const heading = page.getByRole('heading', { name: 'Refund 250 euros for order S-1' })
      await heading.waitFor()
      expect(await heading.locator('b').allInnerTexts()).toEqual(['250', 'S-1'])
      await page.getByRole('link', { name: /^Refund 250 euros for order S-1/ }).waitFor()
      await page.locator('.question-who').getByText('shop assistant').waitFor()
      await page.getByLabel('What the user asked').getByText('call send_refund').waitFor()
      await page.getByLabel('What the tool does').getByText('Sends money back').waitFor()
      const sheet = page.getByLabel('Arguments', { exact: true })
      expect(await sheet.locator('dt').allInnerTexts()).toEqual([
        'order_id\nThe number of the order.',
        'amount\nIn euros.',
        'note',
        'currency',
      ])
      expect(await sheet.locator('.mark').allInnerTexts()).toEqual(['mixed letters', 'U+202E'])
      await sheet.getByText('all 4 seen').waitFor()
      expect(await page.getByText('You have not seen everything yet').count()).toBe(0)
      // The facts are one line until they are wanted.
      expect(await page.getByText('Waiting since').isVisible()).toBe(false)
      await page.getByText('Details', { exact: true }).click()
      await page.getByText('Waiting since').waitFor()
      await tab.check()
      await tab.close()
    } finally {
      await shown.settle()
      await shown.close()
    }
  })

  test('what has not been on the screen is not approved with one press, and with one press once it has been', async () => {
    const many = await openShop()
    try {
      const note = Array.from({ length: 60 }, (_, i) => `line ${i}`).join('\n')
      const [first, second] = [await many.ask('T-1', 1, { note }), await many.ask('T-2', 2, { note })]
      const tab = await visit(browser, many.h, `/approvals/${first.approvalId}`)
      const { page } = tab
      const approve = page.getByRole('button', { name: /^Approve/ })
      const unseen = page.getByText('You have not seen everything yet')
      await page.locator('.danger:enabled').waitFor()
      await unseen.waitFor()
      await page.keyboard.press('Control+Enter')
      await page.getByRole('button', { name: /^Approve send_refund\?/, disabled: false }).waitFor()
      expect((await many.approval(first.approvalId))['status']).toBe('PENDING')
      await page.keyboard.press('Control+Enter')
      await page.getByText('Approved: ').waitFor()

      await page.goto(`${many.h.url}/approvals/${second.approvalId}`)
      await page.locator('.danger:enabled').waitFor()
      // To the end and back in jumps, folded and unfolded: the middle has not been on the screen.
      const jump = (top: number) =>
        page.evaluate(async (to) => {
          window.scrollTo({ top: to, behavior: 'instant' })
          for (let i = 0; i < 5; i++) await new Promise((done) => requestAnimationFrame(done))
        }, top)
      const count = page.getByText(/ seen$/)
      await jump(100_000)
      await expect.poll(() => count.innerText()).toBe('3 of 4 seen')
      await page.getByRole('button', { name: 'Show all of note' }).click()
      for (const top of [0, 100_000, 0]) await jump(top)
      expect(await count.innerText()).toBe('3 of 4 seen')
      await unseen.waitFor()
      // As a reader goes through it: what passes in less than half a second is not read.
      for (let i = 0; i < 12 && (await unseen.count()) > 0; i++) {
        await page.mouse.move(900, 400)
        await page.mouse.wheel(0, 200)
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 700))))
      }
      await page.getByText('all 4 seen').waitFor()
      await tab.check()
      await approve.click()
      await page.getByText('Approved: ').last().waitFor()
      await many.h.until(second.generationId, ['COMPLETED'])
      await tab.close()
    } finally {
      await many.settle()
      await many.close()
    }
  })

  test('an argument of 100 kB is shown, folded, and does not hold up the page', async () => {
    const note = `${'x'.repeat(99_000)} end`
    const asked = await shop.ask('T-3', 1, { note })
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    await page.getByRole('button', { name: 'Show all of note' }).waitFor()
    expect((await page.getByLabel('Arguments', { exact: true }).boundingBox())!.height).toBeLessThan(1_000)
    await page.getByRole('heading', { name: `note ${'x'.repeat(79)}…` }).waitFor()
    await tab.check()
    await tab.close()
  })

  test('an argument of 200 fields is shown, and does not hold up the page', async () => {
    const wide = await openWide(shop)
    const next = await visit(browser, shop.h, `/approvals/${wide}`)
    await next.page.getByText(/^\d+ of 200 seen$/).waitFor()
    expect(await next.page.locator('.sheet > div').count()).toBe(200)
    await next.check()
    await next.close()
  })

  test('a question is decided in the run that it stopped, which goes on there', async () => {
    const asked = await shop.ask('U-1', 250)
    await shop.ask('U-2')
    const tab = await visit(browser, shop.h, `/runs/${asked.generationId}`)
    const { page } = tab
    const waiting = page.getByLabel('What the run waits for')
    await waiting.getByText('Send a refund: order_id U-1, amount 250').waitFor()
    await waiting.getByRole('button', { name: 'Decide …' }).click()
    await page.getByRole('heading', { name: /^Send a refund/ }).waitFor()
    await page.locator('.danger:enabled').filter({ hasText: 'Reject' }).waitFor()
    await tab.check()
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    await page.getByRole('link', { name: 'Open the request' }).waitFor()
    await page.locator('.screen-head [role=status]').getByText('completed').waitFor()
    expect(new URL(page.url()).pathname).toBe(`/runs/${asked.generationId}`)
    await tab.check()
    await tab.close()
  })

  test('fast keys never decide about another call than the one that stands there', async () => {
    const asked = await Promise.all(['D-1', 'D-2', 'D-3'].map((order) => shop.ask(order)))
    const tab = await visit(browser, shop.h, '/people/programs')
    const { page } = tab
    // A machine under load presses keys as slowly as a person: the page's own time stands, so these are faster than any.
    await page.clock.install()
    await page.goto(`${shop.h.url}/approvals`)
    await page.getByRole('heading', { name: 'Send a refund' }).waitFor()
    await page.locator('.danger:enabled').waitFor()
    // Later than the page's time when the request arrives: a clock does not go back.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 5000))
    // Faster than a question can stand still: nothing may be decided.
    for (const key of ['j', 'Control+Enter', 'k', 'Control+Enter', 'Control+Enter', 'j', 'Control+Backspace'])
      await page.keyboard.press(key)
    for (const { approvalId } of asked) expect((await shop.approval(approvalId))['status']).toBe('PENDING')
    await page.clock.resume()
    const shown = new URL(page.url()).pathname.split('/').at(-1)!
    await page.getByRole('button', { name: /^Reject/, disabled: false }).waitFor()
    await page.locator('.danger:enabled').waitFor()
    await page.keyboard.press('Control+Backspace')
    await page.getByText('Rejected: ').waitFor()
    const states = await Promise.all(asked.map(({ approvalId }) => shop.approval(approvalId)))
    expect(
      asked.flatMap(({ approvalId }, at) => (states[at]!['status'] === 'REJECTED' ? [approvalId] : [])),
    ).toEqual([shown])
    // Several at once, each with an outcome of its own.
    const boxes = page.getByRole('list', { name: 'Waiting requests' }).getByRole('checkbox')
    await expect.poll(() => boxes.count()).toBe(2)
    const all = page.getByRole('checkbox', { name: 'Select all 2' })
    await all.check()
    await page.getByText('2 of 2 selected').waitFor()
    await page.keyboard.press('*')
    await all.waitFor()
    expect(await boxes.first().isChecked()).toBe(false)
    await page.keyboard.press('x')
    const some = page.getByRole('checkbox', { name: '1 of 2 selected' })
    await expect.poll(() => some.evaluate((box: HTMLInputElement) => box.indeterminate)).toBe(true)
    await page.keyboard.press('*')
    for (const box of await boxes.all()) expect(await box.isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Reject …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 calls of send_refund together: amount 500').waitFor()
    await dialog
      .getByText(/^Send a refund: order_id D-/)
      .first()
      .waitFor()
    await dialog.getByLabel('Reason (sent to the models)').fill('not today')
    await dialog.getByRole('button', { name: 'Reject 2' }).click()
    await dialog.getByText('rejected').nth(1).waitFor()
    await tab.check()
    const others = asked.filter(({ approvalId }) => approvalId !== shown)
    for (const { approvalId } of others)
      expect(await shop.approval(approvalId)).toMatchObject({ votes: [{ reason: 'not today' }] })
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
    await page.getByRole('status', { name: 'Outcome' }).getByText('rejected').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Nothing waits for you').waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('time runs out on the screen: the buttons go and the words say why', async () => {
    const brief = await openShop({ gate: { timeoutSeconds: 5 } })
    try {
      const asked = await brief.ask('E-1')
      const tab = await visit(browser, brief.h, `/approvals/${asked.approvalId}`)
      await tab.page.getByText('Nobody decided in time').waitFor()
      expect(await tab.page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
      await tab.check()
      await tab.close()
    } finally {
      await brief.close()
    }
  })

  test('a question that comes while one is read waits behind a line and moves nothing', async () => {
    const first = await shop.ask('F-1')
    const tab = await visit(browser, shop.h, `/approvals/${first.approvalId}`)
    const { page } = tab
    const rows = page.locator('.question-row')
    await rows.first().waitFor()
    const soon = await openSooner(shop)
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await rows.count()).toBe(1)
    await page.getByRole('button', { name: '1 new' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    expect(await rows.first().getByRole('link').getAttribute('href')).toBe(`/approvals/${soon}`)
    expect(new URL(page.url()).pathname).toBe(`/approvals/${first.approvalId}`)
    await tab.check()
    await tab.close()
  })

  test('with the keyboard alone: choose, give a reason, reject, and come back', async () => {
    const asked = await shop.ask('G-1')
    const tab = await visit(browser, shop.h, '/approvals', { width: 900 })
    const { page } = tab
    await page.locator('.question-row').first().waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'Send a refund' }).waitFor()
    const shown = new URL(page.url()).pathname.split('/').at(-1)!
    await page.locator('.danger:enabled').waitFor()
    await page.keyboard.press('r')
    await page.keyboard.type('no jokes')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Backspace')
    await page.getByText('Rejected: ').waitFor()
    expect(await shop.approval(shown)).toMatchObject({ votes: [{ reason: 'no jokes' }] })
    await page.keyboard.press('?')
    await page
      .getByRole('dialog', { name: 'Keys' })
      .getByText(/^Gatehouse \d+\.\d+\.\d+, schema \d{4}_/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('heading', { name: 'Project' }).waitFor()
    await tab.check()
    await tab.close()
    expect(asked.approvalId).toBeDefined()
  })

  test('what was decided and what was granted can be found again, and a grant can be revoked', async () => {
    const asked = await shop.ask('H-1')
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    await page.locator('.verdict-more > summary').click()
    await page.getByLabel('Also approve later calls').check()
    await page.getByRole('combobox', { name: 'With' }).selectOption('TOOL')
    await tab.check()
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByRole('button', { name: /^Approve send_refund\?/ }).click()
    await page.getByText('Approved: ').waitFor()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    await page.getByRole('link', { name: 'Decided' }).click()
    await page.getByRole('cell', { name: 'send_refund' }).first().waitFor()
    await tab.check()
    await page.getByRole('link', { name: 'Grants' }).click()
    await page.getByRole('cell', { name: 'any arguments' }).waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No grants').waitFor()
    await tab.check()
    await tab.close()
  })

  test('a question is answered in place of the tool, and later ones are refused', async () => {
    const { gate } = (
      await shop.h.mutate(
        'updateTool',
        { id: shop.refundId, gate: { autoApprove: false, responses: true } },
        'tool { gate { responses } }',
      )
    )['tool']
    expect(gate).toEqual({ responses: true })
    const asked = await shop.ask('W-1')
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`)
    const { page } = tab
    const answer = page.getByRole('button', { name: 'Answer with this text' })
    await page.locator('.danger:enabled').waitFor()
    expect(await answer.isDisabled()).toBe(true)
    await page.getByLabel('Reason (sent to the model)').fill('It was paid back in cash.')
    await page.locator('.verdict-more > summary').click()
    await page.getByLabel('Also reject later calls').check()
    expect(await page.getByLabel('Maximum calls').count()).toBe(0)
    await tab.check()
    await answer.click()
    await page.getByText('Rejected: ').waitFor()
    await shop.h.until(asked.generationId, ['COMPLETED'])
    await page.goto(`${shop.h.url}/approvals/${asked.approvalId}`)
    await page.getByText('answered in place of the tool').waitFor()
    await page.getByText('It was paid back in cash.').waitFor()
    await page.getByRole('link', { name: 'Grants' }).click()
    await page.getByRole('cell', { name: 'calls are rejected' }).waitFor()
    await tab.check()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No grants').waitFor()
    await tab.close()
  })

  test('who may not decide reads why, and has no buttons', async () => {
    const asked = await shop.ask('I-1')
    const { secret } = await shop.person('Vera', 'VIEWER')
    const tab = await visit(browser, shop.h, `/approvals/${asked.approvalId}`, { key: secret })
    const { page } = tab
    await page.getByText(/approvals:Decide/).waitFor()
    expect(await page.getByRole('button', { name: /^(Approve|Reject)/ }).count()).toBe(0)
    await tab.check()
    await tab.close()
  })

  test('an approval that is gone, and an address that is nothing, are a sentence and a way on', async () => {
    const tab = await visit(browser, shop.h, '/approvals/apr_0000000000000000000000')
    await tab.page.getByText('This request no longer exists').waitFor()
    await tab.check()
    await tab.page.goto(`${shop.h.url}/nowhere`)
    await tab.page.getByText('Page not found').waitFor()
    await tab.check()
    await tab.close()
  })
})

/** A question about a call with 200 arguments. Returns its id. */
async function openWide(shop: Shop): Promise<string> {
  const names = Array.from({ length: 200 }, (_, i) => `field_${i}`)
  const inputSchema = objectSchema(Object.fromEntries(names.map((name) => [name, { type: 'number' }])), names)
  const made = await shop.h.mutate(
    'createTool',
    { name: 'wide', gate: { autoApprove: false }, config: { http: { url: shop.till.url, inputSchema } } },
    'tool { id }',
  )
  const args = Object.fromEntries(names.map((name, i) => [name, i]))
  const input = { toolId: made['tool'].id, arguments: args }
  const called = await shop.h.mutate('callTool', input, 'toolCall { approval { id } }')
  return called['toolCall'].approval.id
}

/** A question with an earlier deadline than any other. Returns its id. */
async function openSooner(shop: Shop): Promise<string> {
  const gate = (timeoutSeconds: number) =>
    shop.h.mutate(
      'updateTool',
      { id: shop.refundId, gate: { mode: 'ALWAYS', timeoutSeconds } },
      'tool { id }',
    )
  await gate(60)
  const { approvalId } = await shop.ask('F-2')
  await gate(600)
  return approvalId
}
