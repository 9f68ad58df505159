/** A real browser on the dashboard, with every fault that a page can have written down. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { chromiumPath, hasChromium } from './chromium-path.ts'
import { adminKey, type Harness } from './harness.ts'

export { hasChromium }

/** Tests of pages skip, and say so, where there is no browser. */
if (!hasChromium)
  console.warn(`No browser at ${chromiumPath}: the tests of the dashboard are skipped. Set CHROMIUM_PATH.`)

let running: Promise<Browser> | null = null

/**
 * The browser of this process, for one test file after another: to start one takes two seconds of CPU. Its `close` closes the
 * pages; it ends with the process.
 */
export function openChromium(): Promise<Browser> {
  running ??= chromium.launch({ executablePath: chromiumPath }).then((browser) => {
    browser.close = async () => void (await Promise.all(browser.contexts().map((one) => one.close())))
    browser.on('disconnected', () => (running = null))
    return browser
  })
  // The next file tries again.
  running.catch(() => (running = null))
  return running
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Visit {
  page: Page
  context: BrowserContext
  /** Faults so far: console errors, exceptions, violations of the policy, requests to another origin. */
  faults: string[]
  /**
   * Fails on any fault, and where the page as it stands now violates WCAG 2.2 AA or scrolls sideways: light, dark and on
   * a phone, or in the looks that are given.
   */
  check(looks?: readonly Look[]): Promise<void>
  close(): Promise<void>
}

export interface VisitOptions {
  /** Who is signed in; null: nobody. */
  key?: string | null
  width?: number
  height?: number
  colorScheme?: 'light' | 'dark'
  /** The language of the browser; English of the USA when left out. */
  locale?: string
  /** Console errors that the journey causes on purpose, such as those of requests while the server is away. */
  expected?: RegExp
}

/** Opens a page of the dashboard in a context of its own. */
export async function visit(
  browser: Browser,
  { url }: Pick<Harness, 'url'>,
  at: string,
  {
    key = adminKey,
    width = 1280,
    height = 800,
    colorScheme = 'light',
    locale = 'en-US',
    expected,
  }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    locale,
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
  })
  if (key !== null) await signIn(context, url, key)
  const page = await context.newPage()
  // Less than a test has, so that it is the locator that fails.
  page.setDefaultTimeout(120_000)
  const faults: string[] = []
  const fault = (text: string) => {
    if (!expected?.test(text)) faults.push(text)
  }
  page.on('console', (message) => {
    if (message.type() === 'error') fault(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => fault(`exception: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol !== 'data:' && protocol !== 'blob:' && origin.replace(/^ws/, 'http') !== url)
      fault(`foreign request: ${request.url()}`)
  })
  await page.exposeFunction('tellViolation', (text: string) => fault(`policy: ${text}`))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { tellViolation } = globalThis as unknown as { tellViolation(text: string): void }
      tellViolation(`${event.violatedDirective} ${event.blockedURI}`)
    })
  })
  await page.goto(url + at)
  return {
    page,
    context,
    faults,
    async check(looks = commonLooks) {
      for (const look of looks) {
        await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', ...look.media })
        await page.setViewportSize({ width: look.width ?? width, height: look.height ?? height })
        const found = [...(await violations(page, look.rules)), ...(await sideways(page))]
        expect(found, `${page.url()} ${look.name}`).toEqual([])
      }
      await page.emulateMedia({ colorScheme, forcedColors: 'none' })
      await page.setViewportSize({ width, height })
      expect(faults).toEqual([])
    },
    close: () => context.close(),
  }
}

/** How a page is looked at. */
interface Look {
  name: string
  /** Light, and no forced colours, where it says nothing else. */
  media?: { colorScheme?: 'dark'; forcedColors?: 'active' }
  /** In CSS pixels; those of the visit where nothing else is said. */
  width?: number
  height?: number
  /** Which rules can tell it from the first look; all where nothing else is said. */
  rules?: 'contrast' | 'all but contrast'
}

const commonLooks: readonly Look[] = [
  { name: 'light' },
  { name: 'dark', media: { colorScheme: 'dark' }, rules: 'contrast' },
  { name: 'on a phone', width: 390, rules: 'all but contrast' },
]

/** Those, a window of 1280 x 800 at a zoom of 200 %, and the colours of the system. */
export const everyLook: readonly Look[] = [
  ...commonLooks.map(({ rules: _rules, ...look }) => look),
  { name: 'at 200 %', width: 640, height: 400 },
  { name: 'in forced colours', media: { forcedColors: 'active' } },
]

/** What is wider than the window although nothing around it scrolls. */
export function sideways(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const root = document.documentElement
    if (root.scrollWidth <= root.clientWidth) return []
    const isWide = (one: Element) => one.getBoundingClientRect().right > root.clientWidth + 1
    const wide = [...document.body.querySelectorAll('*')].filter(isWide)
    return [
      `${root.scrollWidth} px wide: ${wide
        .map((one) => `${one.tagName}.${one.className}`)
        .slice(0, 12)
        .join(' ')}`,
    ]
  })
}

/** Signs the context in: its pages have the cookie of the session. */
export async function signIn(context: BrowserContext, url: string, key: string): Promise<void> {
  const response = await context.request.post(`${url}/session`, { data: { key }, headers: { origin: url } })
  expect(response.status(), await response.text()).toBe(201)
}

async function violations(page: Page, rules?: Look['rules']): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  return page.evaluate(async (chosen) => {
    const { axe: judge } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>
      }
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
    // At the end of the page, where what sticks to the edge of the window lies over nothing.
    const at = window.scrollY
    window.scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })
    const found = await judge.run({
      runOnly: chosen === 'contrast' ? ['color-contrast'] : tags,
      rules: { 'color-contrast': { enabled: chosen !== 'all but contrast' } },
      resultTypes: ['violations'],
    })
    window.scrollTo({ top: at, behavior: 'instant' })
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`),
    )
  }, rules)
}

/** Where the pictures of the guides and of README are. */
const pictures = join(import.meta.dirname, '../../docs/guides/pictures')

/** Takes the picture of a screen as it stands, in light colours. Only when PICTURES is set, as `npm run pictures` does. */
export async function picture({ page }: Pick<Visit, 'page'>, name: string): Promise<void> {
  if (!process.env['PICTURES']) return
  const before = page.viewportSize()!
  const dismiss = page.locator('.toast button')
  while ((await dismiss.count()) > 0) await dismiss.first().click()
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.evaluate(async () => {
    ;(globalThis as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 0)
    const { document: shown } = globalThis as unknown as { document: { fonts: { ready: Promise<unknown> } } }
    await shown.fonts.ready
  })
  await page.screenshot({ path: join(pictures, `${name}-light.png`), animations: 'disabled' })
  await page.setViewportSize(before)
}
