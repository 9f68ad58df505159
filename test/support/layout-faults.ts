/** What is wrong with how a page is laid out: words that are broken, texts that are cut, things that lie over each other. */
import type { Page } from 'playwright-core'
import { sideways } from './chromium.ts'

/** Helpers of the judges below, in the page. */
interface Layout {
  /** A text with the way to it. */
  tell(text: string, at: Element): string
  /** The texts that are drawn, with the element around each. */
  texts(): { node: Text; around: Element }[]
  /** What is seen of a rectangle of an element, between the edges of what scrolls or cuts; null: nothing. */
  seen(rect: DOMRect, of: Element): DOMRect | null
}

type Window = typeof globalThis & { layout: Layout }

/** Everything wrong with the page as it stands: what, the text and where. */
export async function layoutFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'layout' in globalThis))) await page.evaluate(install)
  const found = [
    ...(await page.evaluate(brokenWords)),
    ...(await page.evaluate(cutTexts)),
    ...(await page.evaluate(overlaps)),
    ...(await sideways(page)),
  ]
  return [...new Set(found)]
}

function install(): void {
  const nameOf = (one: Element) =>
    `${one.tagName.toLowerCase()}${[...one.classList].map((name) => `.${name}`).join('')}`
  /** Hidden for the eye only, or not laid out. */
  const isDrawn = (one: Element) =>
    one.checkVisibility({ visibilityProperty: true }) &&
    !one.closest('.sr-only, option, [aria-hidden="true"] > svg') &&
    !getComputedStyle(one).clipPath.startsWith('inset(50%')
  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const all: { node: Text; around: Element }[] = []
    while (walker.nextNode()) {
      const node = walker.currentNode as Text
      const around = node.parentElement!
      if (/\S/.test(node.data) && isDrawn(around)) all.push({ node, around })
    }
    return all
  }
  const seen = (rect: DOMRect, of: Element): DOMRect | null => {
    let { left, top, right, bottom } = rect
    for (let one: Element | null = of; one && one !== document.body; one = one.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(one)
      const edge = one.getBoundingClientRect()
      if (overflowX !== 'visible') [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)]
      if (overflowY !== 'visible') [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)]
      if (position === 'fixed') break
    }
    return right > left && bottom > top ? new DOMRect(left, top, right - left, bottom - top) : null
  }
  const tell = (text: string, at: Element) => {
    const way = [at, at.parentElement, at.parentElement?.parentElement].flatMap((one) =>
      one ? nameOf(one) : [],
    )
    return `${JSON.stringify(text.slice(0, 60))} in ${way.toReversed().join(' > ')}`
  }
  ;(globalThis as Window).layout = { tell, texts, seen }
}

/**
 * Words that go on in the next line, in what is read at a glance. A word is letters, digits and what joins them. Two things
 * may be broken: a text of more than 40 characters without a space, which fits no line of a phone, and code.
 */
function brokenWords(): string[] {
  const { tell, texts } = (globalThis as Window).layout
  const glanced =
    'td, th, dt, button, .button, .badge, h1, h2, h3, h4, label, legend, summary, nav a, .segments a'
  const range = document.createRange()
  const found: string[] = []
  for (const { node, around } of texts()) {
    if (!around.closest(glanced) || around.closest('pre, textarea, .editor, .long.mono')) continue
    for (const { 0: run, index } of node.data.matchAll(/(?<!\S)\S{1,40}(?!\S)/g)) {
      for (const { 0: word, index: at } of run.matchAll(
        /[\p{L}\p{M}\p{N}_]+(?:[.,:'’][\p{L}\p{M}\p{N}_]+)*/gu,
      )) {
        range.setStart(node, index + at)
        range.setEnd(node, index + at + word.length)
        const rects = [...range.getClientRects()].filter(({ width }) => width > 0)
        if (new Set(rects.map(({ top }) => Math.round(top))).size > 1)
          found.push(`broken ${tell(word, around)}`)
      }
    }
  }
  return found
}

/** Texts that end at an edge without three dots, or with them and without a title that has the rest. */
function cutTexts(): string[] {
  const { tell, texts, seen } = (globalThis as Window).layout
  const found: string[] = []
  for (const { node, around } of texts()) {
    for (let one: Element | null = around; one && one !== document.body; one = one.parentElement) {
      const { overflowX, textOverflow, display, webkitLineClamp } = getComputedStyle(one)
      if (webkitLineClamp !== 'none' && one.scrollHeight > one.clientHeight + 1 && !one.closest('[title]')) {
        found.push(`no title for ${tell(node.data, around)}`)
        break
      }
      if (overflowX === 'auto' || overflowX === 'scroll') break
      if (overflowX === 'visible' || display === 'inline' || one.scrollWidth <= one.clientWidth + 1) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const inner = one.getBoundingClientRect()
      const { left, right } = range.getBoundingClientRect()
      if (left >= inner.left - 1 && right <= inner.right + 1) continue
      if (!seen(range.getBoundingClientRect(), around) && inner.width <= 1) break
      if (textOverflow !== 'ellipsis') found.push(`cut ${tell(node.data, around)}`)
      else if (!around.closest('[title]') && !one.querySelector('[title]'))
        found.push(`no title for ${tell(node.data, around)}`)
      break
    }
  }
  return found
}

/** Controls that lie over each other, and texts that do. What stays in place while the page scrolls lies over what scrolls. */
function overlaps(): string[] {
  const { tell, texts, seen } = (globalThis as Window).layout
  const layers = new Map<Element, Element | null>()
  const layerOf = (one: Element): Element | null => {
    if (layers.has(one)) return layers.get(one)!
    const isOwn = /fixed|sticky/.test(getComputedStyle(one).position) || one.matches('.table-scroll')
    const layer = isOwn ? one : one.parentElement && layerOf(one.parentElement)
    layers.set(one, layer)
    return layer
  }
  const judge = (
    things: { rect: DOMRect | null; at: Element; text: string }[],
    most: number,
    what: string,
  ) => {
    const drawn = things.flatMap(({ rect, ...more }) => (rect ? { rect, ...more } : []))
    drawn.sort((a, b) => a.rect.top - b.rect.top)
    return drawn.flatMap((one, at) => {
      const over: string[] = []
      for (const other of drawn.slice(at + 1)) {
        if (other.rect.top >= one.rect.bottom - most) break
        const width = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left)
        const height = Math.min(one.rect.bottom, other.rect.bottom) - other.rect.top
        if (width <= 1 || height <= most || one.at.contains(other.at) || other.at.contains(one.at)) continue
        if (layerOf(one.at) === layerOf(other.at))
          over.push(`${what} ${tell(one.text, one.at)} over ${tell(other.text, other.at)}`)
      }
      return over
    })
  }
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.sr-only, .skip'))
    .map((at) => ({
      at,
      rect: seen(at.getBoundingClientRect(), at),
      text: at.textContent || at.ariaLabel || '',
    }))
  const range = document.createRange()
  const lines = texts().flatMap(({ node, around }) => {
    range.selectNodeContents(node)
    return [...range.getClientRects()].map((rect) => ({
      at: around,
      rect: seen(rect, around),
      text: node.data,
    }))
  })
  // The boxes of letters are higher than their lines.
  return [...judge(controls, 1, 'controls'), ...judge(lines, 5, 'texts')]
}
