/** The page in a browser that wants German: every text of it is German, and one press makes it English. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { places } from '../../web/src/parts/places.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

const file = join(import.meta.dirname, '../../web/src/texts/de.json')
const catalogue = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string | Record<string, string>>

/** The pieces of a text between its placeholders, as they stand on the page. */
const piecesOf = (text: string) =>
  text
    .split('|', 1)[0]!
    .split(/\{\w+\}/)
    .map((piece) => piece.trim())
    .filter((piece) => /\p{L}{2}/u.test(piece))

const german = new Set(
  Object.values(catalogue)
    .flatMap((text) => (typeof text === 'string' ? [text] : Object.values(text)))
    .flatMap(piecesOf),
)
/** What no text of a German page is. */
const english = Object.keys(catalogue)
  .flatMap(piecesOf)
  .filter((piece) => !german.has(piece))

/** Texts and labels of the page, without what comes from people, tools and models. */
const textsOn = (page: Page) =>
  page.evaluate(() => {
    const { document: shown } = globalThis as unknown as { document: any }
    const foreign = 'bdi, code, pre, kbd, script, style, .mono, [data-foreign]'
    const found: string[] = []
    for (const element of shown.querySelectorAll('body *')) {
      if (element.closest(foreign)) continue
      for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
        if (element.hasAttribute(name)) found.push(element.getAttribute(name))
      for (const node of element.childNodes) if (node.nodeType === 3) found.push(node.data)
    }
    return [...new Set(found.map((text) => text.trim()))]
  })

/** The English pieces among the texts: as a whole, or as the words of a longer one. */
async function englishOn(page: Page): Promise<string[]> {
  const texts = await textsOn(page)
  expect(texts.length).toBeGreaterThan(10)
  const long = english.filter((piece) => piece.length > 6)
  return texts.filter((text) => english.includes(text) || long.some((piece) => text.startsWith(piece)))
}

/** Screens beside those that the first test goes through. */
const others = [
  '/approvals?view=decided',
  '/runs',
  '/agents',
  '/agents/new',
  '/tools',
  '/tools/new',
  '/tools/import',
]
  .concat(places.flatMap(({ views }) => views.map(({ href }) => href)))
  .filter((href, at, all) => all.indexOf(href) === at)

describe.skipIf(!hasChromium)('the page in German', { timeout: 180_000 }, () => {
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

  test('first steps, a question, its run and the figures have no English text left', async () => {
    const { h } = shop
    const { project } = await h.mutate('createProject', { name: 'leer' }, 'project { id }')
    const made = await h.mutate(
      'createApiKey',
      { name: 'neu', role: 'ADMIN', projectId: project.id },
      'secret',
    )
    const empty = await visit(browser, h, '/approvals', { key: made['secret'], locale: 'de-DE' })
    await empty.page.getByRole('heading', { name: 'Noch wartet nichts auf Sie' }).waitFor()
    expect(await empty.page.locator('html').getAttribute('lang')).toBe('de')
    expect(await englishOn(empty.page)).toEqual([])
    await empty.check()
    await empty.close()

    const { approvalId, generationId } = await shop.ask('DE-1')
    const tab = await visit(browser, h, `/approvals/${approvalId}`, { locale: 'de-DE' })
    const { page } = tab
    const reject = page.getByRole('button', { name: /^Ablehnen/ })
    await reject.waitFor()
    await page.locator('.danger:enabled').waitFor()
    await page.locator('.verdict-more summary').click()
    await page.getByLabel('Auch spätere Aufrufe durchlassen').check()
    await page.getByRole('button', { name: /^Argumente bearbeiten/ }).click()
    await page.getByRole('group', { name: 'Argumente zum Senden' }).waitFor()
    expect(await englishOn(page)).toEqual([])
    await tab.check()
    await page.getByRole('button', { name: 'Änderungen verwerfen' }).click()
    await reject.click()
    await page.getByText('Abgelehnt: ').waitFor()
    await h.until(generationId, ['COMPLETED'])

    await page.goto(`${h.url}/runs/${generationId}?view=timeline`)
    await page.getByRole('heading', { name: 'Über den Lauf' }).waitFor()
    await page.locator('.timeline tr[data-kind=call] button').first().click()
    await page.getByText('Abgeschlossen').first().waitFor()
    expect(await englishOn(page)).toEqual([])
    await tab.check()

    await page.goto(`${h.url}/insights`)
    await page.getByRole('heading', { name: 'Übersicht' }).waitFor()
    await page.locator('table').first().waitFor()
    expect(await englishOn(page)).toEqual([])
    await tab.check()
    await tab.close()
  })

  test('no other screen has an English text', async () => {
    const tab = await visit(browser, shop.h, '/runs', { locale: 'de-DE' })
    for (const address of others) {
      await tab.page.goto(shop.h.url + address)
      await tab.page.locator('main').locator('.empty, table, form').first().waitFor()
      expect(await englishOn(tab.page), address).toEqual([])
    }
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('a refusal of the server is told in German, with its own words after it', async () => {
    const tab = await visit(browser, shop.h, '/settings/providers?new=provider', { locale: 'de-DE' })
    const dialog = tab.page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('eigener')
    await dialog.getByLabel('Standardmodell').fill('klein')
    await dialog.getByLabel('Basis-URL').fill('keine URL')
    await tab.page.keyboard.press('Control+Enter')
    await dialog.getByText(/^Hier braucht etwas einen anderen Wert\. \(.+\)$/).waitFor()
    await tab.close()
  })

  test('the language is chosen in the menu, for this tab and where it goes', async () => {
    const tab = await visit(browser, shop.h, '/tools', { locale: 'de-DE' })
    const { page } = tab
    await page.getByRole('heading', { name: 'Werkzeuge' }).waitFor()
    await page.getByRole('button', { name: 'Sprache: Deutsch' }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Agents' }).waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })
})
