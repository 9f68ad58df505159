/** The screens of runs in a real browser: the list, one run, its child runs, its calls and what people do there. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startLoopback, type Loopback } from '../support/loopback.ts'
import { asking, makeAgent } from '../support/nested-fixtures.ts'
import { makeFixtures, objectSchema, type Fixtures } from '../support/fixtures.ts'

const word = objectSchema({ word: { type: 'string' } }, ['word'])
const megabyte = `${'A megabyte of text. '.repeat(50_000)}THE END`

describe.skipIf(!hasChromium)('runs in the browser', { timeout: 180_000 }, () => {
  let h: Harness
  let fixtures: Fixtures
  let browser: Browser
  let odd: Loopback

  beforeAll(async () => {
    h = await openHarness()
    fixtures = await makeFixtures(h)
    browser = await openChromium()
    odd = await startLoopback((request, response) => {
      if (request.url?.startsWith('/large')) return void response.end(megabyte)
      // The connection breaks after the request has been read: nobody knows what became of it.
      response.socket?.destroy()
    })
  })
  afterAll(async () => {
    await browser?.close()
    await odd?.close()
    await fixtures?.close()
    await h?.stop()
  })

  const tool = async (name: string, path: string, method: string) => {
    const http = { url: `${odd.url}${path}`, method, inputSchema: word }
    const made = await h.mutate('createTool', { name, config: { http } }, 'tool { id }')
    return made['tool'].id as string
  }
  const row = (page: Page, agent: string) => page.locator('table.runs tr').filter({ hasText: agent })
  const line = (page: Page, name: string) =>
    page.locator('.timeline tbody tr').filter({ has: page.getByRole('button', { name, exact: true }) })
  const status = (page: Page) => page.locator('.screen-head [role=status]')

  test('a run is started by the keyboard, seen to its end, and found in the list by a filter', async () => {
    const agent = await fixtures.agent({ name: 'greeter' })
    const { page, check, close } = await visit(browser, h, '/runs?status=COMPLETED')
    await page.getByText('No matching runs').waitFor()
    await page.getByRole('button', { name: 'Start a run' }).click()
    await page.getByRole('dialog').getByLabel('Agent').selectOption(agent)
    await page.getByLabel('What to do').fill('say Good morning to you.')
    await page.keyboard.press('Control+Enter')
    await page.waitForURL(/\/runs\/gen_/)
    await status(page).getByText('completed').waitFor()
    await page.getByText('not an AI').first().waitFor()
    await page.getByRole('link', { name: 'Conversation' }).click()
    await page.getByText('Good morning to you.', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await row(page, 'greeter').getByText('completed').waitFor()
    await check()
    // The list is moved in by keys, and what is chosen is opened by Enter.
    await page.keyboard.press('j')
    await page.locator('tr[data-chosen]').getByText('greeter').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/runs\/gen_/)
    await page.goBack()
    await page.locator('.filter-menu > summary').first().click()
    await page.getByRole('checkbox', { name: 'completed' }).uncheck()
    await page.getByRole('checkbox', { name: 'failed' }).check()
    await page.getByText('No matching runs').waitFor()
    expect(new URL(page.url()).search).toBe('?status=FAILED')
    await close()
  })

  test('a run is of the agent that was shown, also when it is deleted while somebody writes', async () => {
    await fixtures.agent({ name: 'bystander' })
    const agentId = await fixtures.agent({ name: 'leaver' })
    const tab = await visit(browser, h, `/runs?agent=${agentId}`)
    const { page } = tab
    await page.getByRole('button', { name: 'Start a run' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What to do').fill('say Good morning.')
    const names = dialog.getByLabel('Agent').getByRole('option')
    await dialog.getByLabel('Agent').getByRole('option', { name: 'leaver' }).waitFor({ state: 'attached' })
    await h.mutate('deleteAgent', { id: agentId }, '__typename')
    await expect.poll(() => names.allTextContents()).not.toContain('leaver')
    expect(await dialog.getByLabel('Agent').inputValue()).toBe(agentId)
    await dialog.getByRole('button', { name: 'Start' }).click()
    await dialog.getByRole('alert').getByText(agentId, { exact: false }).waitFor()
    expect(tab.faults).toEqual([])
    await tab.close()
  })

  test('new runs are there at once, and wait while a row is chosen', async () => {
    const agent = await fixtures.agent({ name: 'busy' })
    await h.until(await fixtures.start(agent, 'say one'), ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs?agent=${agent}`)
    await row(page, 'busy').first().waitFor()
    expect(await row(page, 'busy').count()).toBe(1)
    await h.until(await fixtures.start(agent, 'say two'), ['COMPLETED'])
    await row(page, 'busy').nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const chosen = await page.locator('tr[data-chosen] a').getAttribute('href')
    await h.until(await fixtures.start(agent, 'say three'), ['COMPLETED'])
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await row(page, 'busy').count()).toBe(2)
    expect(await page.locator('tr[data-chosen] a').getAttribute('href')).toBe(chosen)
    await page.getByRole('button', { name: '1 new' }).click()
    await row(page, 'busy').nth(2).waitFor()
    await check()
    await close()
  })

  test('whoever comes back finds the list where it was, and the brackets go from run to run', async () => {
    const agent = await fixtures.agent({ name: 'many' })
    const ids: string[] = []
    for (let i = 0; i < 60; i++) ids.unshift(await fixtures.start(agent, `say ${i}`))
    await h.until(ids[0]!, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs?agent=${agent}`)
    await row(page, 'many').first().waitFor()
    expect(await row(page, 'many').count()).toBe(50)
    await page.getByRole('button', { name: 'Show 50 more' }).click()
    await expect.poll(() => row(page, 'many').count()).toBe(60)
    await row(page, 'many').nth(55).getByRole('link').scrollIntoViewIfNeeded()
    const place = await page.evaluate('scrollY')
    expect(place).toBeGreaterThan(500)
    await row(page, 'many').nth(55).getByRole('link').click()
    await page.waitForURL(`**/runs/${ids[55]}`)
    await status(page).getByText('completed').waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
    await page.keyboard.press(']')
    await page.waitForURL(`**/runs/${ids[56]}`)
    await status(page).getByText('completed').waitFor()
    await page.keyboard.press('[')
    await page.waitForURL(`**/runs/${ids[55]}`)
    await status(page).getByText('completed').waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL(`**/runs?agent=${agent}`)
    await expect.poll(() => row(page, 'many').count()).toBe(60)
    await expect.poll(() => page.evaluate('scrollY')).toBe(place)
    await check()
    await close()
  })

  test('a run that waits is answered in the browser, and goes on', async () => {
    const agent = await fixtures.agent({ name: 'asker' })
    const id = await fixtures.start(
      agent,
      'call look {"word":"sky"}\ncall ask {"word":"colour"}\nthen\nsay It is blue.',
    )
    await h.until(id, ['REQUIRES_ACTION'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Answer …' }).click()
    await page.waitForURL(/[?&]call=call_/)
    await line(page, 'ask').getByText('waits for a client').waitFor()
    await check()
    await page.getByRole('textbox', { name: 'Output' }).fill('blue')
    await page.getByRole('button', { name: 'Send the output' }).click()
    await status(page).getByText('completed').waitFor()
    await line(page, 'ask').getByText('succeeded').waitFor()
    await page.getByRole('region', { name: 'Result' }).getByText('blue').waitFor()
    await line(page, 'Step 2').waitFor()
    const { data } = await h.gql(`query($id: ID!) { generation(id: $id) { toolCalls { name content } } }`, {
      id,
    })
    const asked = data['generation'].toolCalls.find((call: { name: string }) => call.name === 'ask')
    expect(asked.content).toEqual([{ type: 'text', text: 'blue' }])
    await check()
    await close()
  })

  test('JSON that is none cannot be sent, and somebody else’s answer is told', async () => {
    const agent = await fixtures.agent({ name: 'twice' })
    const id = await fixtures.start(agent, 'call ask {"word":"a"}\ncall tell {"word":"b"}')
    const { requiredAction } = await h.until(id, ['REQUIRES_ACTION'])
    const [call] = requiredAction.toolCalls
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline&call=${call.id}`)
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByRole('textbox', { name: 'Output' }).fill('{"a":')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('button', { name: 'Send the output' }).isDisabled()).toBe(true)
    const outputs = [{ toolCallId: call.id, output: 'mine' }]
    await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'outcomes { status }')
    await line(page, call.name).getByText('succeeded').waitFor()
    await page.getByRole('region', { name: 'Result' }).getByText('mine').waitFor()
    expect(await page.getByRole('button', { name: 'Send the output' }).count()).toBe(0)
    await check()
    await close()
  })

  test('the text on its way is shown, and the step that it becomes stands in its place', async () => {
    const agent = await fixtures.agent({ name: 'writer' })
    const text = 'Slowly and steadily the tortoise walks. '.repeat(5).trim()
    // It begins when the page is open.
    const { pause } = await h.mutate('pause', { agentId: agent }, 'pause { id }')
    const id = await fixtures.start(agent, `slow 100ms\nsay ${text}`)
    const { page, check, close } = await visit(browser, h, `/runs/${id}`)
    await h.mutate('resume', { pauseId: pause.id }, 'pause { id }')
    await page.getByText('is being written').waitFor()
    await page.locator('.run-writing').getByText('tortoise').waitFor()
    await status(page).getByText('completed').waitFor()
    await page.getByText('is being written').waitFor({ state: 'detached' })
    await page.getByText(text, { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Events' }).click()
    await page.getByText('GENERATION_COMPLETED').waitFor()
    await check()
    await close()
  })

  test('a run is cancelled with a reason, which stays with it', async () => {
    const agent = await fixtures.agent({ name: 'endless' })
    const id = await fixtures.start(agent, 'call ask {"word":"x"}')
    await h.until(id, ['REQUIRES_ACTION'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Cancel …' }).click()
    // Escape closes the dialog, and nothing behind it hears the key.
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).toContain(id)
    await page.getByRole('button', { name: 'Cancel …' }).click()
    await page.getByLabel('Reason').fill('Not needed any more')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await status(page).getByText('cancelled').waitFor()
    await page.getByText('Not needed any more').waitFor()
    await check()
    await close()
  })

  test('every open run that a filter finds is cancelled at once, and the others go on', async () => {
    const [mine, other] = [await fixtures.agent({ name: 'runaway' }), await fixtures.agent({ name: 'calm' })]
    const runs: string[] = []
    for (let n = 0; n < 3; n++) runs.push(await fixtures.start(mine, 'call ask {"word":"x"}'))
    const spared = await fixtures.start(other, 'call ask {"word":"x"}')
    for (const id of [...runs, spared]) await h.until(id, ['REQUIRES_ACTION'])
    const { page, check, close } = await visit(browser, h, `/runs?agent=${mine}`)
    await page.getByRole('button', { name: 'Cancel all of these …' }).click()
    await page.getByLabel('Reason').fill('It asks again and again')
    await check()
    await page.getByRole('button', { name: 'Cancel the runs' }).click()
    await page.getByText('3 runs are being cancelled.').waitFor()
    for (const id of runs) await h.until(id, ['CANCELLED'])
    await page.getByRole('button', { name: 'Cancel all of these …' }).waitFor({ state: 'detached' })
    expect((await h.until(spared, ['REQUIRES_ACTION']))['status']).toBe('REQUIRES_ACTION')
    await check()
    await close()
  })

  test('child runs open like folders, and the keys lead through the family', async () => {
    const worker = await makeAgent(h, { name: 'worker', toolIds: [fixtures.tools.look], maxSteps: 100 })
    const boss = await makeAgent(h, { name: 'boss', agentIds: [worker] })
    const stages = Array.from({ length: 25 }, (_, i) => `say at ${i}\ncall look {"word":"w${i}"}`)
    const message = [...stages, 'say all looked at'].join('\nthen\n')
    const id = await fixtures.start(boss, asking('worker', message, 'back'))
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'Open the child run of worker' }).click()
    await page.getByRole('button', { name: 'Show more, 31 left' }).waitFor()
    // The run, its two steps and its call, and 20 rows and the button for more of the child.
    expect(await page.locator('.timeline tbody tr').count()).toBe(25)
    await page.getByRole('button', { name: 'Show more, 31 left' }).click()
    await page.getByRole('button', { name: 'Show more, 11 left' }).waitFor()
    await picture({ page }, 'run')
    await check()
    // A call of the child is chosen, and its link opens the same.
    await page.getByRole('button', { name: 'look', exact: true }).first().click()
    await page.waitForURL(/[?&]call=call_/)
    await page.getByText('Sent once').waitFor()
    await page.reload()
    await page.getByText('Sent once').waitFor()
    await page.locator('tr[data-chosen]').getByText('look').waitFor()
    await line(page, 'worker').getByRole('button', { name: 'worker', exact: true }).click()
    await page.getByRole('link', { name: 'open it' }).click()
    await page.getByRole('link', { name: /^Parent/ }).waitFor()
    await page.keyboard.press('p')
    await page.waitForURL(`**/runs/${id}`)
    await close()
  })

  test('the brush zooms into a stretch of time, and 0 shows all of it again', async () => {
    const agent = await fixtures.agent({ name: 'zoomed' })
    const id = await fixtures.start(
      agent,
      'call look {"word":"one"}\nthen\ncall look {"word":"two"}\nthen\nsay done',
    )
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await line(page, 'Step 3').waitFor()
    const all = page.getByRole('button', { name: 'All' })
    expect(await all.isDisabled()).toBe(true)
    const plot = (await page.locator('.timeline-plot').boundingBox())!
    // From where the second step begins, however long the first took.
    const second = (await line(page, 'Step 2').locator('.bar-model').boundingBox())!
    await page.mouse.move(second.x + 1, plot.y + 10)
    await page.mouse.down()
    await page.mouse.move(plot.x + plot.width, plot.y + 10, { steps: 4 })
    await page.mouse.up()
    expect(await all.isEnabled()).toBe(true)
    // The first step is before the stretch.
    await expect.poll(() => line(page, 'Step 1').locator('rect').count()).toBe(0)
    await page.keyboard.press('0')
    await expect.poll(() => line(page, 'Step 1').locator('.bar-model').count()).toBe(1)
    await check()
    await close()
  })

  test('a result of a megabyte is folded until it is asked for', async () => {
    const large = await tool('large', '/large', 'GET')
    const agent = await fixtures.agent({ name: 'reader', toolIds: [large] })
    const id = await fixtures.start(agent, 'call large {"word":"x"}\nthen\nsay read')
    await h.until(id, ['COMPLETED'])
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await page.getByRole('button', { name: 'large', exact: true }).click()
    await page.getByRole('button', { name: /^Show all/ }).waitFor()
    expect(await page.getByRole('region', { name: 'Result' }).innerText()).not.toContain('THE END')
    await page.getByRole('button', { name: /^Show all/ }).click()
    await page.getByRole('button', { name: 'Show less' }).click()
    await check()
    await close()
  })

  test('a call of unknown outcome is explained, and run again only by who knows what that may do', async () => {
    const act = await tool('act_once', '/act', 'POST')
    const agent = await fixtures.agent({ name: 'unlucky', toolIds: [act] })
    const id = await fixtures.start(agent, 'call act_once {"word":"x"}\nthen\nsay I do not know')
    await h.until(id, ['COMPLETED'])
    // A run can complete although its tool failed: the list says so, and finds it by the tool.
    const list = await visit(browser, h, `/runs?failed=${act}`)
    const rows = list.page.locator('.runs tbody tr')
    await rows.filter({ hasText: 'unlucky' }).getByText('1 call failed').waitFor()
    expect(await rows.count()).toBe(1)
    expect(await list.page.getByLabel('Failed tool').inputValue()).toBe(act)
    const other = await tool('never_failed', '/act', 'POST')
    await list.page.getByLabel('Failed tool').selectOption(other)
    await list.page.getByText('No matching runs').waitFor()
    await list.check()
    await list.close()
    const { page, check, close } = await visit(browser, h, `/runs/${id}?view=timeline`)
    await line(page, 'act_once').getByText('unknown').waitFor()
    await page.getByRole('button', { name: 'act_once', exact: true }).click()
    await page.getByRole('heading', { name: 'Its outcome is unknown' }).waitFor()
    await check()
    await page.getByRole('button', { name: 'Resolve …' }).click()
    const dialog = page.getByRole('dialog')
    const send = dialog.locator('button[type=submit]')
    // No outcome is chosen beforehand, and whoever sends it again says that they know.
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0)
    await dialog.getByLabel('Reason for the audit (required)').fill('asked the shop')
    expect(await send.isDisabled()).toBe(true)
    await dialog.getByRole('radio', { name: 'Run it again' }).check()
    expect(await send.isDisabled()).toBe(true)
    await dialog.getByRole('checkbox', { name: 'I understand that it may happen twice' }).check()
    expect(await send.isEnabled()).toBe(true)
    await dialog.getByRole('radio', { name: 'It did not take effect' }).check()
    await dialog.getByRole('textbox', { name: 'Output of the call' }).fill('No such order')
    await send.click()
    await page.getByText('act_once is resolved.').waitFor()
    await line(page, 'act_once').getByText('failed', { exact: true }).waitFor()
    await check()
    await close()
  })

  test('an id without a run has words and a way on, and so has nothing at all', async () => {
    const { page, check, close } = await visit(browser, h, '/runs/gen_000000000000000000000000')
    await page.getByText('There is no such run').waitFor()
    await check()
    await page.getByRole('link', { name: 'All runs' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await close()
  })
})
