/** Trying an agent in a real browser: a conversation in one thread, with everything that it asks answered in place. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import { gateFixtures, type GateFixtures } from '../support/gate-fixtures.ts'
import { openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasChromium)('the playground of an agent', { timeout: 180_000 }, () => {
  let h: Harness
  let fixtures: Fixtures
  let gate: GateFixtures
  let browser: Browser

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    gate = gateFixtures(h, fixtures)
    browser = await openChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await fixtures?.close()
    await h?.stop()
  })

  const message = (page: Page) => page.getByLabel(/^Message to/)
  const turn = (page: Page, at: number) => page.getByRole('article', { name: 'Run' }).nth(at)
  const say = async (page: Page, text: string) => {
    await message(page).fill(text)
    await page.getByRole('button', { name: /^Send/, disabled: false }).first().click()
  }
  const completed = (page: Page, at: number) =>
    turn(page, at).getByRole('status').getByText('completed').waitFor()
  const runsOf = async (agentId: string) => {
    const query = 'query($id: ID!) { generations(filter: { agentId: $id }) { nodes { id threadId status } } }'
    return (await h.gql(query, { id: agentId })).data['generations'].nodes as Record<string, string>[]
  }

  test('the answer is seen as it is written, the next message goes on, and a new conversation begins anew', async () => {
    const agent = await fixtures.agent({ name: 'talker' })
    const { page, check, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    const text = 'One word after the other comes. '.repeat(4).trim()
    await say(page, `slow 150ms\nsay ${text}`)
    await turn(page, 0).getByText('is being written').waitFor()
    await page.getByText('The next message can be sent when this answer has ended.').waitFor()
    await turn(page, 0).getByText(text, { exact: true }).waitFor()
    await completed(page, 0)
    await message(page).fill('say second')
    await message(page).press('Control+Enter')
    await completed(page, 1)
    await turn(page, 1).getByText('second', { exact: true }).waitFor()
    const [second, first] = await runsOf(agent)
    expect(second!['threadId']).toBe(first!['threadId'])
    await check()
    await page.getByRole('button', { name: 'New conversation' }).click()
    expect(await page.getByRole('article', { name: 'Run' }).count()).toBe(0)
    await say(page, 'say third')
    await completed(page, 0)
    expect((await runsOf(agent))[0]!['threadId']).not.toBe(first!['threadId'])
    await turn(page, 0).getByRole('link', { name: 'The run' }).click()
    await page.waitForURL(/\/runs\/gen_/)
    await close()
  })

  test('what is typed while a message is on its way stays, and the conversation is still the same one', async () => {
    const agent = await fixtures.agent({ name: 'patient' })
    const { page, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const arrived = new Promise<void>((resolve) => {
      void page.route('**/graphql', async (route) => {
        if (route.request().postData()?.includes('startGeneration')) {
          resolve()
          await held
        }
        await route.continue()
      })
    })
    await message(page).fill('say first')
    await message(page).press('Control+Enter')
    await arrived
    await message(page).fill('say and another thing')
    release()
    await completed(page, 0)
    expect(await message(page).inputValue()).toBe('say and another thing')
    await message(page).press('Control+Enter')
    await completed(page, 1)
    await expect.poll(() => message(page).inputValue()).toBe('')
    await close()
  })

  test('a client tool is answered by a form', async () => {
    const agent = await fixtures.agent({ name: 'asker' })
    const { page, check, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    await say(page, 'call ask {"word":"colour"}\nthen\nsay Blue it is.')
    const form = page.getByRole('region', { name: 'Output of ask' })
    await form.getByRole('textbox', { name: 'Output' }).fill('blue')
    await check()
    await form.getByRole('button', { name: 'Send the output' }).click()
    await completed(page, 0)
    await turn(page, 0).getByText('Blue it is.', { exact: true }).waitFor()
    expect(await form.count()).toBe(0)
    await check()
    await close()
  })

  test('a gate is decided in place, and the conversation goes on', async () => {
    const pay = await gate.gated({ mode: 'ALWAYS' })
    const agent = await fixtures.agent({ name: 'payer', toolIds: [pay.id] })
    const { page, check, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    await say(page, `call ${pay.name} {"amount":7}\nthen\nsay paid`)
    const asks = page.getByRole('region', { name: 'The agent asks' })
    await asks.getByRole('button', { name: /^Approve/, disabled: false }).waitFor()
    await check()
    await asks.getByText('As JSON').scrollIntoViewIfNeeded()
    await page.mouse.wheel(0, 200)
    await asks.getByText('all 1 seen').waitFor()
    await page.keyboard.press('Control+Enter')
    await completed(page, 0)
    await turn(page, 0).getByText('paid', { exact: true }).waitFor()
    expect(gate.paid(pay.name)).toHaveLength(1)
    expect(await asks.count()).toBe(0)
    await check()
    await close()
  })

  test('keys in the next message send it, and decide nothing about the question above it', async () => {
    const pay = await gate.gated({ mode: 'ALWAYS' })
    const agent = await fixtures.agent({ name: 'hasty', toolIds: [pay.id] })
    const { page, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    await say(page, `call ${pay.name} {"amount":7}\nthen\nsay paid`)
    const asks = page.getByRole('region', { name: 'The agent asks' })
    const reject = asks.getByRole('button', { name: /^Reject/, disabled: false })
    await reject.waitFor()
    await message(page).fill('no, wait')
    await message(page).press('Control+Enter')
    await message(page).press('Control+Backspace')
    expect(await message(page).inputValue()).toBe('no, ')
    await reject.click()
    await completed(page, 0)
    expect(gate.paid(pay.name)).toEqual([])
    await close()
  })

  test('a run is stopped, and the next message may come', async () => {
    const agent = await fixtures.agent({ name: 'endless' })
    const { page, check, close } = await visit(browser, h, `/agents/${agent}?tab=try`)
    await say(page, 'call ask {"word":"x"}')
    await turn(page, 0).getByText('waits for a client').first().waitFor()
    await turn(page, 0).getByRole('button', { name: 'Stop' }).click()
    await turn(page, 0).getByRole('status').getByText('cancelled').waitFor()
    await say(page, 'say still here')
    await completed(page, 1)
    await check()
    await close()
  })
})
