/** Every screen of the dashboard: a project in which each has something to show, and the addresses that lead there. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { places } from '../../web/src/parts/places.ts'
import { leaveBehind } from './left-behind.ts'
import type { Shop } from './web-fixtures.ts'

const source = (path: string) => readFileSync(new URL(`../../web/src/${path}`, import.meta.url), 'utf8')
const found = (path: string, pattern: RegExp) => [...source(path).matchAll(pattern)].map(([, one]) => one!)

/** The address of each screen, with the ids of `fill`. */
export const everyAddress = (ids: Record<string, string>): Set<string> =>
  new Set([
    ...places.flatMap(({ views }) => views.map(({ href }) => href)),
    ...found('app.tsx', /<Route path="([^"]+)"/g).flatMap((route) => addressesOf(route, ids)),
  ])

/** Leads an open page to a screen, without loading it again, and waits until it is drawn. */
export async function goTo(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to)
  }, address)
  await page.locator('#content h1, #content h2').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('.skeleton'))
}

/** The addresses of a route: each id, and each of its tabs. */
function addressesOf(route: string, ids: Record<string, string>): string[] {
  if (route === '/') return []
  if (route.startsWith('/operations')) return []
  if (route.endsWith('/:other')) return [route.replace(':id', ids['/runs']!).replace(':other', ids['retry']!)]
  const id = ids[route.replace(/\/:id\??$/, '')]
  expect(!route.includes(':') || id, `an id for ${route}`).toBeTruthy()
  const own = route.replace(/:id\??$/, id ?? '')
  const tabs = { '/agents/:id': 'screens/agents/agent.tsx', '/tools/:id': 'screens/tools/tool.tsx' }[route]
  const all = tabs ? found(tabs, /\btab: '(\w+)'/g).map((tab) => `${own}?tab=${tab}`) : [own]
  // The question first: entered without one, a wide inbox opens the first.
  return route.endsWith('?') ? [...all, route.replace('/:id?', '')] : all
}

/** Fills every list. Answers an id for each route that has one. */
export async function fill(shop: Shop): Promise<Record<string, string>> {
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
