/** Who did something stands by name wherever it is shown, with the id behind it; and what a model was asked stands with its tries. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

describe.skipIf(!hasChromium)('names and tries', { timeout: 180_000 }, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  test('whoever asked, voted, granted and acted is named on every screen, and one press copies the id', async () => {
    const olga = await shop.person('Olga', 'CALLER')
    const ada = await shop.person('Ada')
    const prompt = 'call send_refund {"order_id":"R-7","amount":3}'
    const started = await shop.h.mutate(
      'startGeneration',
      { agentId: shop.agentId, prompt },
      'generation { id }',
      olga.secret,
    )
    const runId = started['generation'].id as string
    const waiting = await shop.h.until(runId, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    const approvalId = waiting['requiredAction'].approvals[0].id as string
    const tab = await visit(browser, shop.h, `/approvals/${approvalId}`)
    const { page } = tab
    await tab.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: shop.h.url })
    const asker = page.getByRole('button', { name: /Olga/ })
    await asker.waitFor()
    expect(await asker.getAttribute('title')).toBe(olga.id)
    await asker.click()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(olga.id)
    const grant = { scope: 'TOOL', holder: 'CALLER', maxUses: 5, expiresInSeconds: 600 }
    await shop.h.mutate(
      'decideApproval',
      { approvalId, verdict: 'APPROVE', grant },
      'approval { id }',
      ada.secret,
    )
    await shop.h.until(runId, ['COMPLETED'])
    await page.getByLabel('Outcome').getByRole('button', { name: /Ada/ }).waitFor()
    await tab.check()
    for (const [path, name, id] of [
      ['/approvals?view=decided', 'Ada', ada.id],
      ['/approvals?view=grants', 'Olga', olga.id],
      ['/approvals?view=grants', 'Ada', ada.id],
      [`/runs/${runId}`, 'Olga', olga.id],
      ['/audit', 'Olga', olga.id],
    ] as const) {
      await page.goto(shop.h.url + path)
      const named = page
        .locator('main')
        .getByRole('button', { name: new RegExp(name) })
        .first()
      await named.waitFor()
      expect(await named.getAttribute('title'), path).toBe(id)
    }
    await page.goto(`${shop.h.url}/runs/${runId}?view=events`)
    await page
      .getByRole('row', { name: /APPROVAL_DECIDED/ })
      .getByText('Ada')
      .waitFor()
    await tab.check()
    await tab.close()
  })

  test('sessions of others are named; who may not see keys reads ids', async () => {
    const { secret, id } = await shop.person('Bruno')
    const other = await visit(browser, shop.h, '/approvals', { key: secret })
    const tab = await visit(browser, shop.h, '/people/sessions')
    const named = tab.page.getByLabel('Sessions of others').getByRole('button', { name: /Bruno/ })
    await named.waitFor()
    expect(await named.getAttribute('title')).toBe(id)
    await tab.check()
    await tab.close()
    await other.close()
    const policy = {
      statement: [
        { effect: 'Allow', action: ['audit:*', 'sessions:Start', 'sessions:List'], resource: ['*'] },
      ],
    }
    const auditor = await shop.h.mutate('createApiKey', { name: 'auditor', policy }, 'secret apiKey { id }')
    const plain = await visit(browser, shop.h, '/audit', { key: auditor['secret'] })
    await plain.page.getByRole('row').filter({ hasText: 'sessions:Start' }).first().waitFor()
    expect(await plain.page.locator('main').innerText()).not.toContain('Bruno')
    await plain.check()
    await plain.close()
  })

  test('the tries of a step stand on its timeline and beside it, with the time to the first token', async () => {
    const prompt = 'fail 429 x2\nslow 40ms\nsay Third time lucky, slowly.'
    const started = await shop.h.mutate(
      'startGeneration',
      { agentId: shop.agentId, prompt },
      'generation { id }',
    )
    const id = started['generation'].id as string
    await shop.h.until(id, ['COMPLETED'])
    const tab = await visit(browser, shop.h, `/runs/${id}?view=timeline`)
    const { page } = tab
    const line = page
      .locator('.timeline tbody tr')
      .filter({ has: page.getByRole('button', { name: 'Step 1' }) })
    await line.waitFor()
    expect(await line.locator('.sr-only').innerText()).toMatch(
      /model [^,]* failed.*model [^,]* failed.*model .* first token after/s,
    )
    expect(await line.locator('.bar-failed .bar-model').count()).toBe(2)
    expect(await line.locator('.bar-first').count()).toBe(1)
    await page.getByRole('button', { name: 'Step 1' }).click()
    const tries = page.getByRole('region', { name: 'Failed attempts' })
    expect(await tries.getByText('MODEL_RATE_LIMITED').count()).toBe(2)
    await page.getByText('First token', { exact: true }).waitFor()
    await tab.check()
    await tab.close()
  })
})
