/** What a press decides: one press is one decision about the question that was read, whatever the hand or the network does. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { objectSchema } from '../support/fixtures.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('what a press decides', { timeout: 180_000 }, () => {
  let browser: Browser
  let plain: Shop
  let destructive: Shop

  beforeAll(async () => {
    browser = await openChromium()
    plain = await openShop()
    destructive = await openShop({ isDestructive: true })
  })
  afterEach(() => Promise.all([plain.settle(), destructive.settle()]))
  afterAll(async () => {
    await browser?.close()
    await Promise.all([plain?.close(), destructive?.close()])
  })

  /** The verdicts that the page sends from now on. */
  const verdictsOf = (page: Page): string[] => {
    const sent: string[] = []
    page.on('request', (request) => {
      const body = request.postData()
      if (body?.includes('mutation Decide')) sent.push(JSON.parse(body).variables.input.approvalId)
    })
    return sent
  }
  const armed = (page: Page) => page.getByRole('button', { name: /^Approve/, disabled: false }).waitFor()
  /** Presses a key that is held down already once more, as a keyboard does by itself. */
  const repeat = async (page: Page, key: string) => {
    for (let i = 0; i < 4; i++) await page.keyboard.down(key)
  }
  const held = async (page: Page, key: string) => {
    await page.keyboard.down('Control')
    await page.keyboard.down(key)
  }
  const shownId = (page: Page) => new URL(page.url()).pathname.split('/').at(-1)!

  test('keys that are held approve the question that was read, and not those that come after it', async () => {
    const asked = [await plain.ask('A-1'), await plain.ask('A-2'), await plain.ask('A-3')]
    const tab = await visit(browser, plain.h, `/approvals/${asked[0]!.approvalId}`)
    const { page } = tab
    const sent = verdictsOf(page)
    await armed(page)
    await held(page, 'Enter')
    await page.getByText('Approved: ').waitFor()
    await expect.poll(() => shownId(page)).not.toBe(asked[0]!.approvalId)
    await armed(page)
    await repeat(page, 'Enter')
    await page.keyboard.up('Enter')
    await page.keyboard.up('Control')
    // A press of its own counts.
    const next = shownId(page)
    await page.keyboard.press('Control+Backspace')
    await page.getByText('Rejected: ').waitFor()
    expect(sent).toEqual([asked[0]!.approvalId, next])
    expect((await plain.approval(next))['status']).toBe('REJECTED')
    await tab.close()
  })

  test('neither keys that are held nor a double click are the second press of a destructive call', async () => {
    const { approvalId } = await destructive.ask('B-1')
    const tab = await visit(browser, destructive.h, `/approvals/${approvalId}`)
    const { page } = tab
    const sent = verdictsOf(page)
    const approve = page.getByRole('button', { name: /^Approve/ })
    const second = page.getByRole('button', { name: /^Approve send_refund\?/, disabled: false })
    await armed(page)
    await held(page, 'Enter')
    await second.waitFor()
    await repeat(page, 'Enter')
    await page.keyboard.up('Enter')
    await page.keyboard.up('Control')
    expect(sent).toEqual([])
    // The button itself, with Enter held on it.
    await page.reload()
    await armed(page)
    await approve.focus()
    await page.keyboard.down('Enter')
    await second.waitFor()
    await repeat(page, 'Enter')
    await page.keyboard.up('Enter')
    expect(sent).toEqual([])
    await page.reload()
    await armed(page)
    await approve.dblclick()
    await second.waitFor()
    expect(sent).toEqual([])
    expect((await destructive.approval(approvalId))['status']).toBe('PENDING')
    await second.click()
    await page.getByText('Approved: ').waitFor()
    expect(sent).toEqual([approvalId])
    await tab.close()
  })

  test('deleting a word of the reason, or of a search, rejects nothing', async () => {
    const { approvalId } = await plain.ask('C-1')
    const tab = await visit(browser, plain.h, `/approvals/${approvalId}`)
    const { page } = tab
    const sent = verdictsOf(page)
    await armed(page)
    const reason = page.getByLabel('Reason (sent to the model)')
    await reason.fill('not this')
    await reason.press('Control+Backspace')
    expect((await reason.inputValue()).trim()).toBe('not')
    await reason.press('Control+Backspace')
    await reason.press('Control+Backspace')
    const search = page.getByLabel('Search or paste an id')
    await search.fill('C-1 send')
    await search.press('Control+Backspace')
    expect(await search.inputValue()).toBe('C-1 ')
    await search.press('Control+Enter')
    await search.press('Escape')
    expect(await search.inputValue()).toBe('C-1 ')
    await page.getByRole('heading', { name: /^Send a refund/ }).waitFor()
    expect(sent).toEqual([])
    // Outside of a field it counts.
    await armed(page)
    await page.keyboard.press('Control+Backspace')
    await page.getByText('Rejected: ').waitFor()
    expect(sent).toEqual([approvalId])
    await tab.close()
  })

  test('a text that is no JSON is not passed over: nothing can be approved while it stands there', async () => {
    const inputSchema = objectSchema({ amount: { type: 'number' }, details: { type: 'object' } }, ['amount'])
    const { tool } = await plain.h.mutate(
      'createTool',
      { name: 'pay', gate: { autoApprove: false }, config: { http: { url: plain.till.url, inputSchema } } },
      'tool { id }',
    )
    const args = { amount: 5, details: { to: 'Ann' } }
    const { toolCall } = await plain.h.mutate(
      'callTool',
      { toolId: tool.id, arguments: args },
      'toolCall { approval { id } }',
    )
    const tab = await visit(browser, plain.h, `/approvals/${toolCall.approval.id}`)
    const { page } = tab
    const approve = page.getByRole('button', { name: /^Approve/ })
    await armed(page)
    await page.keyboard.press('e')
    const details = page.getByRole('textbox', { name: 'details as JSON' })
    const write = async (text: string) => {
      await details.press('Control+a')
      await page.keyboard.press('Delete')
      await page.keyboard.insertText(text)
    }
    await details.waitFor()
    await write('{"to": "Ben"')
    await page.getByText('This is not JSON yet').waitFor()
    expect(await approve.isDisabled()).toBe(true)
    // Another field does not make it one.
    await page.getByRole('textbox', { name: 'amount' }).fill('6')
    await page.getByLabel('Changes').getByText('amount').waitFor({ state: 'detached' })
    expect(await approve.isDisabled()).toBe(true)
    // A number that cannot be kept is no value either; one of many digits is.
    await write('{"to": 1e400}')
    await page.getByText('1e400 cannot be sent as it is written.').waitFor()
    expect(await approve.isDisabled()).toBe(true)
    await write('{"to": "Ben", "iban": 12345678901234567891}')
    await page.getByText('This is not JSON yet').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Approve with changes/, disabled: false }).click()
    await page.getByText('Approved: ').waitFor()
    expect((await plain.approval(toolCall.approval.id))['arguments']).toEqual({
      amount: 6,
      // Read by a parser that knows doubles only; test/adversary/values.test.ts compares the digits.
      details: { to: 'Ben', iban: Number('12345678901234567891') },
    })
    await tab.close()
  })

  test('a verdict that is never answered is not waited for without an end', async () => {
    const { approvalId } = await plain.ask('E-1')
    const tab = await visit(browser, plain.h, '/people/programs', { expected: /ERR_/ })
    const { page } = tab
    await page.clock.install()
    await page.goto(`${plain.h.url}/approvals/${approvalId}`)
    const sent = new Promise<void>((resolve) => {
      void page.route('**/graphql', async (route) => {
        // Its connection is dead: no answer ever comes, and no error.
        if (route.request().postData()?.includes('mutation Decide')) resolve()
        else await route.continue()
      })
    })
    await armed(page)
    await page.keyboard.press('Control+Enter')
    await sent
    await page.getByText('Sending …').waitFor()
    await page.clock.fastForward(61_000)
    await page.getByText('No answer came, so this may have been done.').waitFor()
    await page.getByRole('button', { name: /^Reject/, disabled: false }).waitFor()
    await tab.close()
  })

  test('after a verdict the next question has the focus, and after the last one the screen', async () => {
    for (const order of ['H-1', 'H-2']) await plain.ask(order)
    const tab = await visit(browser, plain.h, '/approvals')
    const { page } = tab
    await armed(page)
    const focused = () => page.evaluate(() => document.activeElement?.id)
    const first = shownId(page)
    await page.getByRole('button', { name: /^Reject/ }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => shownId(page)).not.toBe(first)
    await expect.poll(focused).toBe('question-title')
    await armed(page)
    await page.getByRole('button', { name: /^Reject/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Nothing waits for you').waitFor()
    expect(await focused()).toBe('content')
    await tab.check()
    await tab.close()
  })

  test('a reason that is being written stays when somebody else changes the arguments', async () => {
    const two = await openShop({ gate: { quorum: 2 } })
    try {
      const { approvalId } = await two.ask('J-1')
      const tab = await visit(browser, two.h, `/approvals/${approvalId}`)
      const { page } = tab
      await armed(page)
      const reason = page.getByLabel('Reason (sent to the model)')
      await reason.fill('checked with the customer')
      const ann = await two.person('Ann')
      const args = { order_id: 'J-1', amount: 20 }
      const input = { approvalId, verdict: 'APPROVE', arguments: args }
      await two.h.mutate('decideApproval', input, 'approval { id }', ann.secret)
      await page.getByRole('heading', { name: /amount 20/ }).waitFor()
      expect(await reason.inputValue()).toBe('checked with the customer')
      await tab.close()
    } finally {
      await two.settle()
      await two.close()
    }
  })

  test('a row that is being marked is not pushed away, although no question is open', async () => {
    await plain.ask('F-1')
    const tab = await visit(browser, plain.h, '/approvals', { width: 390 })
    const { page } = tab
    const boxes = page.getByRole('list', { name: 'Waiting requests' }).getByRole('checkbox')
    await boxes.first().check()
    const gate = (timeoutSeconds: number) =>
      plain.h.mutate(
        'updateTool',
        { id: plain.refundId, gate: { mode: 'ALWAYS', timeoutSeconds } },
        'tool { id }',
      )
    await gate(60)
    await plain.ask('F-2')
    await gate(600)
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await boxes.count()).toBe(1)
    await tab.close()
  })

  test('a dialog that is closed while it sends says how far it got', async () => {
    const call = (n: number) => {
      const input = { toolId: plain.refundId, arguments: { order_id: `H-${n}`, amount: n } }
      return plain.h.mutate('callTool', input, 'toolCall { id }')
    }
    // One more than goes out at once.
    await Promise.all(Array.from({ length: 51 }, (_, n) => call(n)))
    const { page, close } = await visit(browser, plain.h, '/approvals')
    let go = () => {}
    const released = new Promise<void>((resolve) => (go = resolve))
    let sent = () => {}
    const isSent = new Promise<void>((resolve) => (sent = resolve))
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('mutation Decide')) {
        sent()
        await released
      }
      await route.continue()
    })
    await page.getByRole('checkbox', { name: 'Select all 51' }).waitFor()
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Reject …' }).click()
    await page.getByRole('button', { name: 'Reject 51' }).click()
    await isSent
    await page.keyboard.press('Escape')
    go()
    await page.getByText('Closed: 50 of 51 were sent.').waitFor()
    await page.getByRole('checkbox', { name: 'Select all 1' }).waitFor()
    const { data } = await plain.h.gql(
      '{ approvalTally(filter: { statuses: [PENDING] }) { total { pending } } }',
    )
    expect(data['approvalTally'].total.pending).toBe(1)
    await close()
  })

  test('a late answer to a session that has ended does not end the one after it', async () => {
    const ann = await plain.person('Ann')
    const expected = /status of 401/
    const { approvalId } = await plain.ask('I-1')
    const at = `/approvals/${approvalId}`
    const { page, context, close } = await visit(browser, plain.h, at, { key: ann.secret, expected })
    await armed(page)
    const [first] = await context.cookies()
    let go = () => {}
    const released = new Promise<void>((resolve) => (go = resolve))
    let isHeld = false
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('mutation Decide')) return route.continue()
      isHeld = true
      await released
      // With the cookie of the session before, as it was asked.
      const headers = { ...route.request().headers(), cookie: `${first!.name}=${first!.value}` }
      const { url } = plain.h
      const body = route.request().postData()
      const answer = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...headers, origin: url },
        body,
      })
      await route.fulfill({
        status: answer.status,
        contentType: 'application/json',
        body: await answer.text(),
      })
    })
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => isHeld).toBe(true)
    const late = page.waitForResponse((response) => response.status() === 401)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').fill(ann.secret)
    await page.keyboard.press('Enter')
    await page.getByText('Ann', { exact: true }).first().waitFor()
    go()
    await (await late).finished()
    await page.getByRole('link', { name: 'Catalogue' }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await close()
  })

  test('who signs out while the server does not answer reads that the session may go on', async () => {
    const expected = /ERR_FAILED/
    const { page, close } = await visit(browser, plain.h, '/people/programs', { expected })
    await page.route('**/session', (route) =>
      route.request().method() === 'DELETE' ? route.abort('failed') : route.continue(),
    )
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You may still be signed in').waitFor()
    await close()
  })

  test('a page that shows one person decides nothing in the name of another who has signed in since', async () => {
    const [ann, ben] = [await plain.person('Ann'), await plain.person('Ben')]
    const asked = [await plain.ask('G-1'), await plain.ask('G-2')]
    const tab = await visit(browser, plain.h, `/approvals/${asked[0]!.approvalId}`, { key: ann.secret })
    const { page, context } = tab
    await armed(page)
    await page.getByText('Ann', { exact: true }).waitFor()
    // As a sign-in does that comes from another site: the browser does not send the earlier cookie there.
    const elsewhere = await browser.newContext()
    await elsewhere.request.post(`${plain.h.url}/session`, {
      data: { key: ben.secret },
      headers: { origin: plain.h.url },
    })
    await context.addCookies(await elsewhere.cookies())
    await elsewhere.close()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'Gatehouse' }).waitFor()
    await page.getByText('Your session has ended.').waitFor()
    expect(await plain.approval(asked[0]!.approvalId)).toMatchObject({ status: 'PENDING', votes: [] })
    // Loaded again it is a page of Ben.
    await page.reload()
    await page.getByText('Ben', { exact: true }).waitFor()
    await armed(page)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Approved: ').waitFor()
    expect(await plain.approval(asked[0]!.approvalId)).toMatchObject({ votes: [{ byName: 'Ben' }] })
    await tab.close()
  })

  test('a question that a search does not find is not chosen any more, and no key decides about it', async () => {
    const [first, second] = [await plain.ask('quince'), await plain.ask('rhubarb')]
    const tab = await visit(browser, plain.h, `/approvals/${first.approvalId}`)
    const { page } = tab
    const sent = verdictsOf(page)
    await armed(page)
    await page.keyboard.press('/')
    await page.keyboard.type('rhubarb')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Select a request').waitFor()
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('j')
    await armed(page)
    expect(shownId(page)).toBe(second.approvalId)
    expect(sent).toEqual([])
    expect((await plain.approval(first.approvalId))['status']).toBe('PENDING')
    await tab.close()
  })

  test('what is typed in a dialog closes nothing, and is no shortcut behind it', async () => {
    const asked = [await plain.ask('D-1'), await plain.ask('D-2')]
    const tab = await visit(browser, plain.h, `/approvals/${asked[0]!.approvalId}`)
    const { page } = tab
    await armed(page)
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Approve …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await page.keyboard.type('enough jokes, x e r *')
    expect(await dialog.getByRole('textbox').inputValue()).toBe('enough jokes, x e r *')
    // Elsewhere in the dialog keys are dead, too.
    await dialog.getByRole('heading').focus()
    await page.keyboard.type('jjex/')
    expect(await dialog.isVisible()).toBe(true)
    expect(shownId(page)).toBe(asked[0]!.approvalId)
    await page.keyboard.press('Control+Enter')
    await expect.poll(async () => (await plain.approval(asked[1]!.approvalId))['status']).toBe('APPROVED')
    await tab.close()
  })

  test('a dialog that takes something away begins at its Cancel', async () => {
    const tab = await visit(browser, plain.h, '/people')
    const { page } = tab
    await page
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await page.keyboard.press('Space')
    await dialog.waitFor({ state: 'hidden' })
    await tab.close()
  })

  test('nothing counts as seen before it has stood still, and what the user asked does not push it away', async () => {
    const { approvalId } = await plain.ask('L-1')
    const tab = await visit(browser, plain.h, '/agents', { width: 390, height: 844 })
    const { page } = tab
    // What was asked comes late, as over a slow line.
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('query Asked')) await released
      await route.continue()
    })
    await page.goto(`${plain.h.url}/approvals/${approvalId}`)
    await page.getByRole('heading', { level: 1, name: /refund/i }).waitFor()
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
    release()
    await page.getByText('What the user asked').waitFor()
    await armed(page)
    await tab.close()
  })
})
