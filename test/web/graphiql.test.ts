/** GraphiQL in a browser: the session of the dashboard is enough, and without one nothing is answered. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasChromium)('GraphiQL', () => {
  let h: Harness
  let browser: Browser
  beforeAll(async () => {
    h = await openHarness({ graphiql: true })
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
  })

  /** Presses the button on the query that the page begins with; returns what the server answers. */
  async function firstAnswer(key: string | null): Promise<Record<string, any>> {
    const { page, close } = await visit(browser, h, '/graphql', { key })
    try {
      const answered = page.waitForResponse((response) =>
        (response.request().postData() ?? '').includes('viewer'),
      )
      await page.locator('.graphiql-execute-button').click()
      const response = await answered
      expect(response.request().headers()['authorization']).toBeUndefined()
      return (await response.json()) as Record<string, any>
    } finally {
      await close()
    }
  }

  test('a browser that is signed in needs no header: the first query is answered as it stands', async () => {
    expect(await firstAnswer(adminKey)).toMatchObject({
      data: { viewer: { name: 'operator' }, agents: { nodes: [] }, approvals: { nodes: [] } },
    })
  })

  test('a browser that is not signed in is refused', async () => {
    const { errors } = await firstAnswer(null)
    expect(errors[0].extensions.code).toBe('UNAUTHENTICATED')
  })
})
