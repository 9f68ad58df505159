/** The hand of a person at the page: whatever it does is counted, and it goes on as soon as what it needs is painted. */
import type { Locator, Page } from 'playwright-core'

export interface Counts {
  /** Presses of keys; two held together are one, and each letter of a text is one. */
  keys: number
  /** Presses of the mouse, or of a finger. */
  clicks: number
}

/** How long anything may take to be painted, in milliseconds. */
const mostMs = 20_000
/** The most presses of Tab that lead from one element to another. */
const mostTabs = 80

export class Hand {
  readonly page: Page
  readonly #isFinger: boolean
  counts: Counts = { keys: 0, clicks: 0 }

  constructor(page: Page, isFinger: boolean) {
    this.page = page
    this.#isFinger = isFinger
  }

  /** The elements of these names, for `click` and `see`. */
  button = (name: string | RegExp) => this.page.getByRole('button', { name })
  link = (name: string | RegExp) => this.page.getByRole('link', { name })

  async press(...names: string[]): Promise<void> {
    for (const name of names) await this.page.keyboard.press(name)
    this.counts.keys += names.length
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text)
    this.counts.keys += [...text].length
  }

  /** Presses what can be pressed, once it can. */
  async click(locator: Locator): Promise<void> {
    const one = await this.see(locator)
    await this.until(`${locator} can be pressed`, () => one.isEnabled())
    await (this.#isFinger ? one.tap() : one.click())
    this.counts.clicks++
  }

  /** Presses the field and writes into it. `isOver`: over what stood there. */
  async write(locator: Locator, text: string, isOver = false): Promise<void> {
    await this.click(locator)
    if (isOver) await this.press('Control+a')
    await this.type(text)
  }

  /** Opens a choice and presses one of it: the browser draws its list outside of the page. */
  async choose(locator: Locator, label: string | RegExp): Promise<void> {
    await this.click(locator)
    const option = locator.locator('option', { hasText: label }).first()
    await this.until(`${locator} has ${label}`, async () => (await option.count()) > 0)
    await locator.selectOption((await option.getAttribute('value'))!)
    this.counts.clicks++
  }

  /** Leads the focus to it with Tab, or with Shift and Tab. */
  async tabTo(locator: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    const one = await this.see(locator)
    const hasFocus = () => one.evaluate((element) => element === element.ownerDocument.activeElement)
    for (let tabs = 0; tabs < mostTabs; tabs++) {
      if (await hasFocus()) return
      await this.press(key)
    }
    throw new Error(`${mostTabs} presses of ${key} do not lead to ${locator}.`)
  }

  /** Passes over the frame, with the link that stands before it for that. */
  async skipFrame(): Promise<void> {
    await this.tabTo(this.page.locator('a.skip'))
    await this.press('Enter')
  }

  /** Writes into the palette and takes what has this name. */
  async goTo(text: string, option: string | RegExp): Promise<void> {
    await this.press('Control+k')
    await this.see(this.page.getByRole('combobox', { name: /^Screen/ }))
    await this.type(text)
    const options = this.page.getByRole('option')
    const wanted = options.filter({ hasText: option })
    await this.see(wanted)
    for (const chosen = wanted.first(); (await chosen.getAttribute('aria-selected')) !== 'true';)
      await this.press('ArrowDown')
    await this.press('Enter')
  }

  /** Resolves with the first of them once it is on the screen. */
  async see(locator: Locator): Promise<Locator> {
    const one = locator.first()
    await this.until(`${locator} is shown`, () => one.isVisible())
    return one
  }

  /** Resolves once it is not on the screen any more. */
  gone(locator: Locator): Promise<void> {
    return this.until(`${locator} has gone`, async () => (await locator.count()) === 0)
  }

  /** Resolves once it is so, looking at every frame: a locator of Playwright looks twice a second. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    for (const end = performance.now() + mostMs; !(await isSo()); await this.frame())
      if (performance.now() > end) throw new Error(`Not within ${mostMs} ms: ${what}.`)
  }

  /** Resolves with the next frame of the page. */
  frame(): Promise<void> {
    return this.page.evaluate(
      () => new Promise<void>((resolve) => (globalThis as any).requestAnimationFrame(() => resolve())),
    )
  }
}
