/** Every screen, once: accessible and as wide as the window in light, dark, on a phone, at 200 % and in forced colours. */
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everyLook, hasChromium, openChromium, visit } from '../support/chromium.ts'
import { leaveBehind } from '../support/left-behind.ts'
import { places } from '../../web/src/parts/places.ts'
import { openShop, type Shop } from '../support/web-fixtures.ts'

const source = (path: string) => readFileSync(new URL(`../../web/src/${path}`, import.meta.url), 'utf8')
const found = (path: string, pattern: RegExp) => [...source(path).matchAll(pattern)].map(([, one]) => one!)

describe.skipIf(!hasChromium)('every screen', { timeout: 360_000 }, () => {
  let browser: Browser
  let shop: Shop
  let ids: Record<string, string>

  beforeAll(async () => {
    browser = await openChromium()
    shop = await openShop()
    ids = await fill(shop)
  })
  afterAll(async () => {
    await browser?.close()
    await shop?.close()
  })

  test('is accessible in every look and never scrolls sideways', async () => {
    const addresses = [
      ...places.flatMap(({ views }) => views.map(({ href }) => href)),
      ...found('app.tsx', /<Route path="([^"]+)"/g).flatMap(addressesOf),
    ]
    const tab = await visit(browser, shop.h, '/nowhere')
    await tab.check(everyLook)
    for (const address of addresses) {
      await tab.page.evaluate((to) => {
        history.pushState(null, '', to)
      }, address)
      await tab.page.locator('#content h1, #content h2').first().waitFor()
      await tab.page.waitForFunction(() => !document.querySelector('.skeleton'))
      await tab.check(everyLook)
    }
    await tab.close()
    const signIn = await visit(browser, shop.h, '/runs', { key: null, expected: /401/ })
    await signIn.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await signIn.check(everyLook)
    await signIn.close()
  })

  /** The addresses of a route: each id, and each of its tabs. */
  function addressesOf(route: string): string[] {
    if (route === '/') return []
    if (route.startsWith('/operations')) return []
    if (route.endsWith('/:other'))
      return [route.replace(':id', ids['/runs']!).replace(':other', ids['retry']!)]
    const id = ids[route.replace(/\/:id\??$/, '')]
    expect(!route.includes(':') || id, `an id for ${route}`).toBeTruthy()
    const own = route.replace(/:id\??$/, id ?? '')
    const tabs = { '/agents/:id': 'screens/agents/agent.tsx', '/tools/:id': 'screens/tools/tool.tsx' }[route]
    const all = tabs ? found(tabs, /\btab: '(\w+)'/g).map((tab) => `${own}?tab=${tab}`) : [own]
    // The question first: entered without one, a wide inbox opens the first.
    return route.endsWith('?') ? [...all, route.replace('/:id?', '')] : all
  }
})

/** Fills every list. Answers an id for each route that has one. */
async function fill(shop: Shop): Promise<Record<string, string>> {
  const { h, agentId, refundId, till } = shop
  const long = 'An approver with a rather long name, as keys have when departments name them'
  await shop.person(long)
  await h.mutate('setSecret', { name: 'TOKEN_OF_THE_WAREHOUSE_IN_ROTTERDAM', value: 'v' }, 'secret { id }')
  const { webhook } = await h.mutate('createWebhook', { url: `${till.url}/hook` }, 'webhook { id }')
  const config = { mcp: { url: `${till.url}/mcp` } }
  const { tool } = await h.mutate('createTool', { name: 'peer', config }, 'tool { id }')
  const times = { cron: '30 9 * * MON-FRI', timeZone: 'Europe/Berlin' }
  for (const more of [
    { name: 'orders', prompt: 'say {order.id}' },
    { name: long, prompt: 'say hello', ...times },
  ])
    await h.mutate('createTrigger', { agentId, ...more }, 'trigger { id }')
  await shop.ask('A-1')
  await shop.settle()
  await unknownCall(shop)
  const { approvalId, generationId } = await shop.ask('A-2', 40, {
    note: 'A note of some length. '.repeat(12),
  })
  const again = { agentId, prompt: 'say hello', retryOf: { generationId, step: 0 } }
  const { generation } = await h.mutate('startGeneration', again, 'generation { id }')
  await h.until(generation.id, ['COMPLETED'])
  return {
    retry: generation.id,
    '/approvals': approvalId,
    '/runs': generationId,
    '/agents': agentId,
    '/tools': refundId,
    '/upstreams': tool.id,
    '/settings/webhooks': webhook.id,
  }
}

async function unknownCall({ h, refundId }: Shop): Promise<void> {
  const input = { toolId: refundId, arguments: { order_id: 'U-1', amount: 12 } }
  const { toolCall } = await h.mutate('callTool', input, 'toolCall { id approval { id } }')
  const settled = h.collect(
    'subscription { projectEvents(after: "0", types: [TOOL_CALL_SETTLED]) { ... on ToolCallSettledEvent { toolCall { id } } } }',
    {},
    (events) => events.some((event) => event.toolCall?.id === toolCall.id),
  )
  await h.mutate(
    'decideApproval',
    { approvalId: toolCall.approval.id, verdict: 'APPROVE' },
    'approval { id }',
  )
  await settled
  await leaveBehind(h, toolCall.id)
}
