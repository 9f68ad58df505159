/**
 * Measures what thirteen tasks of a person take on a full project, from the first page: keys, clicks and seconds until the
 * result is painted; with a mouse, with keys alone, and with a finger on a phone.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from './page.ts'
import { report, type Row } from './report.ts'
import { key } from './server.ts'
import { openGround, type Ground } from './tasks/ground.ts'
import { Hand } from './tasks/hand.ts'
import { keyTasks } from './tasks/keys.ts'
import { heapRows, keyRows } from './tasks/live.ts'
import { pointerTasks } from './tasks/pointer.ts'
import type { Cost, Task, TaskName } from './tasks/task.ts'

interface Way {
  name: string
  tasks: Record<TaskName, Task>
  options: BrowserContextOptions
}

const desk = { viewport: { width: 1440, height: 900 } }
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

const ways: Way[] = [
  { name: 'mouse', tasks: pointerTasks, options: desk },
  { name: 'keys', tasks: keyTasks, options: desk },
  { name: 'finger', tasks: pointerTasks, options: phone },
]

/** A page of somebody who is signed in, once it has read what it shows. */
async function openPage(browser: Browser, { server }: Ground, options: BrowserContextOptions, at = '/') {
  const context = await browser.newContext({ ...options, locale: 'en-US' })
  await context.request.post(`${server.url}/session`, { data: { key }, headers: { origin: server.url } })
  const page = await context.newPage()
  await page.goto(server.url + at, { waitUntil: 'networkidle' })
  return page
}

async function costOf(page: Page, task: Task, ground: Ground, isFinger: boolean): Promise<Cost> {
  const hand = new Hand(page, isFinger)
  const began = performance.now()
  await task(hand, ground)
  // What was found is in the document: the frame after the next one has it on the screen.
  for (let frame = 0; frame < 2; frame++) await hand.frame()
  return { ...hand.counts, seconds: (performance.now() - began) / 1000 }
}

/** Each task in a window of its own, one after another on the same project. */
async function rowsOf(browser: Browser, { name, tasks, options }: Way): Promise<Row[]> {
  const ground = await openGround()
  const rows: Row[] = []
  try {
    for (const [task, does] of Object.entries(tasks)) {
      const page = await openPage(browser, ground, options)
      try {
        const figures = { ...(await costOf(page, does, ground, options.hasTouch === true)) }
        rows.push({ case: `${task}, ${name}`, figures })
      } catch (error) {
        const { message } = error as Error
        throw new Error(`"${task}" by ${name}, at ${page.url()}: ${message}`, { cause: error })
      } finally {
        await page.context().close()
      }
    }
  } finally {
    await ground.close()
  }
  return rows
}

export async function measureTasks(): Promise<void> {
  const browser = await openBrowser()
  try {
    const rows = []
    for (const way of ways) rows.push(...(await rowsOf(browser, way)))
    report('tasks', 'What tasks take on a full project, from the first page', rows)
    const open = (ground: Ground, at: string) => openPage(browser, ground, desk, at)
    report('tasks', 'A key among many requests', await keyRows(open))
    report('tasks', 'What a page keeps of events', await heapRows(open))
  } finally {
    await browser.close()
  }
}
