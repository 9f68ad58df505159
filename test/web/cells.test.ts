/** Every screen of a full project, in every width and both languages: no word is broken, nothing is cut and nothing lies over another thing. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { layoutFaults } from '../support/layout-faults.ts'
import { everyAddress, fill, goTo } from '../support/screens.ts'
import { startScriptedMcp, type ScriptedMcp } from '../support/scripted-mcp.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

/** In CSS pixels; the last one is a window of 1280 at a zoom of 200 %. */
const widths = [1440, 1280, 1024, 390, 640]

describe.skipIf(!hasChromium)('the layout of a full project', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop
  let upstream: ScriptedMcp
  let ids: Record<string, string>

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop({ gate: { timeoutSeconds: 86_400 } })
    upstream = await startScriptedMcp(() => {})
    ids = await fill(shop)
    await crowd(shop, upstream)
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
    await upstream?.close()
  })

  test.each(['en-US', 'de-DE'])('breaks no word, cuts nothing and covers nothing: %s', async (locale) => {
    const tab = await visit(browser, shop.h, '/nowhere', { locale })
    const widen = await widener(tab.page)
    const found = new Map<string, number[]>()
    for (const address of everyAddress(ids)) {
      await goTo(tab.page, address)
      for (const width of widths) {
        await widen(width)
        for (const fault of await layoutFaults(tab.page)) {
          const named = `${locale} ${address}: ${fault}`
          found.set(named, [...(found.get(named) ?? []), width])
        }
      }
    }
    expect([...found].map(([fault, at]) => `${fault} at ${at.join(', ')} px`)).toEqual([])
    expect(tab.faults).toEqual([])
    await tab.close()
  })
})

/** What gives the page a width and waits until it is laid out. The session has to stay: its end takes the width back. */
async function widener(page: Page): Promise<(width: number) => Promise<void>> {
  const session = await page.context().newCDPSession(page)
  return async (width) => {
    const deviceScaleFactor = width === 640 ? 2 : 1
    await session.send('Emulation.setDeviceMetricsOverride', {
      width,
      height: 800 / deviceScaleFactor,
      deviceScaleFactor,
      mobile: false,
    })
    await page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
    })
    expect(await page.evaluate(() => innerWidth)).toBe(width)
  }
}

/** The longest names that people give, and German ones. */
const long = 'Lieferantenstammdatenverwaltung der Niederlassung Süddeutschland und Österreich'
const german = [
  'Kreditkartenrückbuchungsverfahren',
  'Auftragsbestätigung',
  'Zahlungserinnerung',
  'Adressprüfung',
]

/** Adds as many of everything as a busy project has: agents, tools, upstreams, runs in every state and questions. */
async function crowd({ h, till, refundId, agentId }: Shop, upstream: ScriptedMcp): Promise<void> {
  const { data } = await h.gql('{ projects(first: 1) { nodes { id } } }')
  await h.mutate('updateProject', { id: data['projects'].nodes[0].id, name: long }, 'project { id }')
  const inputSchema = { type: 'object', properties: { amount: { type: 'number' } } }
  const { tool: asks } = await h.mutate(
    'createTool',
    { name: 'ask_the_caller', title: 'Ask the caller', config: { client: { inputSchema } } },
    'tool { id }',
  )
  await h.mutate(
    'createTool',
    { name: 'lager_rotterdam', title: `Lager ${long}`, config: { mcp: { url: upstream.url } } },
    'tool { id }',
  )
  for (let n = 0; n < 28; n++)
    await h.mutate(
      'createTool',
      {
        name: `${['lieferantenstammdaten_aktualisieren', 'get_orders_of_customer', 'pay'][n % 3]}_${n}`,
        ...(n % 2 ? { title: `${german[n % 4]} ${n}` } : {}),
        description: `${long}. `.repeat(1 + (n % 4)),
        config: { http: { url: `${till.url}/${n}`, method: 'POST', inputSchema } },
        ...(n % 4 ? {} : { gate: { mode: 'ALWAYS', timeoutSeconds: 86_400 } }),
      },
      'tool { id }',
    )
  for (let n = 0; n < 11; n++)
    await h.mutate(
      'createAgent',
      { name: `${n % 3 ? german[n % 4] : long} ${n}`, toolIds: [refundId, asks.id] },
      'agent { id }',
    )
  const start = async (prompt: string, states: string[]) => {
    const input = { agentId, prompt, ...(states.includes('EXPIRED') ? { timeoutSeconds: 1 } : {}) }
    const { generation } = await h.mutate('startGeneration', input, 'generation { id }')
    return h.until(generation.id, states)
  }
  await h.mutate('updateAgent', { id: agentId, toolIds: [refundId, asks.id] }, 'agent { id }')
  await start(`fail 400`, ['FAILED'])
  await start(`say ${long} ${long}`, ['COMPLETED'])
  await start('call ask_the_caller {"amount":5}', ['REQUIRES_ACTION'])
  await start('slow 10m before\nsay done', ['RUNNING'])
  const { id: generationId } = await start('slow 10m before\nsay never', ['RUNNING'])
  await h.mutate('cancelGeneration', { generationId }, 'generation { id }')
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      h.mutate(
        'callTool',
        {
          toolId: refundId,
          arguments: {
            order_id: `Auftrag-${'2026-11-'.repeat(1 + (n % 3))}${n}`,
            amount: n * 1_234.5,
            note: long,
          },
        },
        'toolCall { id }',
      ),
    ),
  )
}
