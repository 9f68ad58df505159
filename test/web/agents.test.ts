/** The screens of agents in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Browser, Page } from 'playwright-core'
import { mcpConfig } from '../../web/src/screens/agents/mcp-config.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { openHarness, type Harness } from '../support/harness.ts'

const shots = process.env['SHOTS'] ?? null

test('the snippet for MCP clients is JSON with the name of the agent', () => {
  expect(JSON.parse(mcpConfig('Back office, EU', 'https://g.test/mcp/agt_1'))).toEqual({
    mcpServers: {
      'back-office-eu': {
        type: 'http',
        url: 'https://g.test/mcp/agt_1',
        headers: { Authorization: 'Bearer gh_…' },
      },
    },
  })
  expect(mcpConfig('日本', 'https://g.test/mcp/agt_1')).toContain('"gatehouse"')
})

describe.skipIf(!hasChromium)('agents', () => {
  let browser: Browser
  let h: Harness
  let toolId: string

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    const pick = await h.mutate(
      'createTool',
      {
        name: 'pick_color',
        gate: { mode: 'ALWAYS', quorum: 2 },
        config: { client: { inputSchema: { type: 'object', properties: { shade: { type: 'string' } } } } },
      },
      'tool { id }',
    )
    toolId = pick['tool'].id
    await h.mutate(
      'createTool',
      { name: 'own', config: { platform: { actions: ['tools', 'tool'] } } },
      'tool { id }',
    )
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
  })

  const create = async (name: string, more: object = {}) =>
    (await h.mutate('createAgent', { name, ...more }, 'agent { id version }'))['agent'] as { id: string }
  const read = async (id: string, fields: string) =>
    (await h.gql(`query($id: ID!) { agent(id: $id) { ${fields} } }`, { id })).data['agent']
  const shoot = async (page: Page, name: string) => {
    if (!shots) return
    await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.screenshot({ path: `${shots}/${name}-dark.png`, fullPage: true })
    await page.emulateMedia({ colorScheme: 'light' })
    const size = page.viewportSize()!
    await page.setViewportSize({ width: 390, height: 844 })
    await page.screenshot({ path: `${shots}/${name}-phone.png`, fullPage: true })
    await page.setViewportSize(size)
  }

  test('an agent is made with its tools, limits and rules, tried, and deleted', async () => {
    const v = await visit(browser, h, '/agents')
    await v.page.getByText('No agents yet').waitFor()
    await v.page.getByRole('button', { name: 'New agent' }).click()
    await v.page.getByRole('button', { name: 'Create the agent' }).click()
    await v.page.getByText('Some fields need another value.').waitFor()
    await v.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Painter')
    await v.page.getByRole('textbox', { name: 'Instructions' }).fill('Pick a colour.')
    await v.page
      .getByRole('group', { name: /^Tools/ })
      .getByText('Select', { exact: true })
      .click()
    await v.page.getByRole('checkbox', { name: /pick_color/ }).check()
    await v.page.getByRole('checkbox', { name: /^own/ }).check()
    await v.page.getByText('What its model sees, and when').click()
    await v.page
      .getByRole('button', { name: 'Add an entry to Rules by step' })
      .or(v.page.getByRole('button', { name: 'Add an entry' }))
      .first()
      .click()
    await v.page.getByRole('textbox', { name: 'step', exact: true }).fill('1')
    await v.page.getByText('Limits', { exact: true }).click()
    await v.page.getByRole('textbox', { name: 'Maximum steps' }).fill('5')
    await v.page.getByRole('textbox', { name: 'Maximum tokens of one run' }).fill('9000')
    await shoot(v.page, 'editor')
    await v.page.getByRole('button', { name: 'Create the agent' }).click()
    await v.page.getByRole('button', { name: /^Send/ }).waitFor()
    const id = new URL(v.page.url()).pathname.split('/').at(-1)!
    expect(
      await read(
        id,
        'name instructions maxSteps budget { tokensPerGeneration } stepRules { step fromStep } toolIds',
      ),
    ).toEqual({
      name: 'Painter',
      instructions: 'Pick a colour.',
      maxSteps: 5,
      budget: { tokensPerGeneration: 9000 },
      stepRules: [{ step: 1, fromStep: null }],
      toolIds: [toolId, expect.stringMatching(/^tool_/)],
    })
    await v.page.getByRole('textbox', { name: 'Message to Painter' }).fill('Hello')
    await shoot(v.page, 'try')
    await v.page.keyboard.press('Control+Enter')
    await v.page.getByRole('link', { name: 'The run' }).click()
    await v.page.waitForURL(/\/runs\/gen_/)
    const run = new URL(v.page.url()).pathname.split('/').at(-1)!
    expect((await h.until(run, ['COMPLETED', 'FAILED', 'REQUIRES_ACTION', 'AWAITING_APPROVAL']))['id']).toBe(
      run,
    )
    await v.page.goto(`${h.url}/agents/${id}`)
    await v.page.getByRole('button', { name: 'Delete' }).waitFor()
    await v.page.getByRole('button', { name: 'Delete' }).click()
    await v.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await v.page.getByText('Deleted Painter.').waitFor()
    expect(await read(id, 'id')).toBeNull()
    await v.check()
    await v.close()
  })

  test('rules whose text is no JSON are not saved as those before them', async () => {
    const { id } = await create('Ruled', { stepRules: [{ step: 1, toolChoice: { mode: 'NONE' } }] })
    const v = await visit(browser, h, `/agents/${id}`)
    await v.page.getByText('What its model sees, and when').click()
    const rules = v.page.getByRole('region', { name: 'Rules by step' })
    await rules.getByRole('button', { name: 'As JSON' }).click()
    await rules.getByRole('textbox').fill('[{"step": 2}')
    await v.page.getByRole('textbox', { name: 'Model' }).fill('builtin/rehearsal')
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.getByText('Some fields need another value.').waitFor()
    expect(await read(id, 'version model')).toEqual({ version: 1, model: null })
    await rules.getByRole('textbox').fill('[{"step": 2}]')
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.getByText('Saved Ruled as version 2.').waitFor()
    expect(await read(id, 'stepRules { step }')).toEqual({ stepRules: [{ step: 2 }] })
    await v.close()
  })

  test('a rival change is shown beside mine, and each of us keeps what was chosen', async () => {
    const { id } = await create('Shared', { instructions: 'First.', toolIds: [toolId] })
    const v = await visit(browser, h, `/agents/${id}`)
    await v.page.getByRole('textbox', { name: 'Instructions' }).fill('Mine.')
    await v.page.getByRole('textbox', { name: 'Model' }).fill('builtin/rehearsal')
    await h.mutate('updateAgent', { id, instructions: 'Theirs.', maxSteps: 7 }, 'agent { version }')
    await v.page.getByRole('heading', { name: 'Someone else changed this' }).waitFor()
    expect(await v.page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true)
    await shoot(v.page, 'conflict')
    await v.page.getByRole('radio', { name: 'Take theirs for Instructions' }).check()
    await v.page.getByRole('button', { name: 'Continue with these' }).click()
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.getByText('Saved Shared as version 3.').waitFor()
    expect(await read(id, 'instructions model maxSteps toolIds')).toEqual({
      instructions: 'Theirs.',
      model: 'builtin/rehearsal',
      maxSteps: 7,
      toolIds: [toolId],
    })
    await shoot(v.page, 'definition')
    await v.check()
    await v.close()
  })

  test('an agent is set to search its tools, and its surface and the steps of its runs say what these take', async () => {
    const { id } = await create('Searcher', { toolIds: [toolId] })
    const v = await visit(browser, h, `/agents/${id}`)
    await v.page.getByText('What its model sees, and when').click()
    await v.page.getByRole('combobox', { name: 'Tools in a request' }).selectOption('SEARCH')
    await v.page.getByRole('textbox', { name: 'Search with more tools than' }).fill('0')
    await shoot(v.page, 'tool-search')
    await v.page.getByRole('button', { name: 'Save', exact: true }).click()
    await v.page.getByText('Saved Searcher as version 2.').waitFor()
    expect(await read(id, 'toolLoading toolLoadingThreshold')).toEqual({
      toolLoading: 'SEARCH',
      toolLoadingThreshold: 0,
    })
    await v.page.goto(`${h.url}/agents/${id}?tab=surface`)
    await v.page
      .getByText(
        /^In the first request of a run: 1 tool of [\d,.]+ \w+, about \d+ tokens\. With all tools: 1 tool of /,
      )
      .waitFor()
    await shoot(v.page, 'tool-sizes')
    const run = { agentId: id, prompt: 'call search_tools {"query": "color"}' }
    const { generation } = await h.mutate('startGeneration', run, 'generation { id }')
    await h.until(generation.id, ['COMPLETED'])
    await v.page.goto(`${h.url}/runs/${generation.id}?view=timeline`)
    await v.page.getByRole('button', { name: 'Step 1', exact: true }).click()
    await v.page.getByText(/^1 tool of [\d,.]+ \w+, about \d+ tokens$/).waitFor()
    await v.check()
    await v.close()
  })

  test('the surface shows each name with its gate, and the address for MCP clients is there to copy', async () => {
    const { data } = await h.gql('{ tools(first: 10) { nodes { id name } } }')
    const ids = data['tools'].nodes.map((tool: { id: string }) => tool.id)
    const child = await create('Helper')
    const { id } = await create('Gateway', { toolIds: ids, agentIds: [child.id], activeToolIds: [toolId] })
    const v = await visit(browser, h, `/agents/${id}?tab=surface`)
    await v.page.getByText('stops every call, 2 people').waitFor()
    await v.page.getByRole('button', { name: 'Actions of own' }).click()
    await v.page.getByText('own_tools').waitFor()
    await v.page.getByRole('link', { name: 'Helper' }).waitFor()
    await shoot(v.page, 'surface')
    await v.check()
    await v.page.getByRole('link', { name: 'MCP', exact: true }).click()
    await v.page.getByText('It is not served to MCP clients now').waitFor()
    await h.mutate('updateAgent', { id, mcp: { enabled: true } }, 'agent { id }')
    await v.page.getByText('It is not served to MCP clients now').waitFor({ state: 'detached' })
    expect(await v.page.getByRole('region', { name: 'snippet' }).textContent()).toBe(
      mcpConfig('Gateway', `${h.url}/mcp/${id}`),
    )
    await shoot(v.page, 'mcp')
    await v.check()
    await v.close()
  })

  test('a schedule and a URL are made, start runs, are switched off and deleted', async () => {
    const { id } = await create('Early')
    const v = await visit(browser, h, `/agents/${id}?tab=triggers`)
    await v.page.getByText('No triggers').waitFor()
    const make = async (name: string, prompt: string) => {
      await v.page.getByRole('button', { name: 'New trigger' }).click()
      await v.page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
      await v.page.getByRole('textbox', { name: 'Prompt' }).fill(prompt)
    }
    await make('nightly', 'say good night')
    await v.page.getByRole('textbox', { name: 'Cron line' }).fill('0 0 31 2 *')
    await v.page.getByRole('textbox', { name: 'Time zone' }).fill('Asia/Tokyo')
    await v.page.getByRole('button', { name: 'Create the trigger' }).click()
    await v.page.getByText('never fires').waitFor()
    await v.page.getByRole('textbox', { name: 'Cron line' }).fill('30 23 * * *')
    await v.page.getByRole('button', { name: 'Create the trigger' }).click()
    await v.page
      .getByText(/23:30|11:30/)
      .nth(2)
      .waitFor()
    await v.page.getByRole('button', { name: 'Run now' }).click()
    await v.page
      .getByRole('row', { name: /nightly/ })
      .locator('a[href^="/runs/gen_"]')
      .waitFor()
    await v.page.getByRole('button', { name: 'Turn off' }).click()
    await v.page.getByText('turned off').waitFor()
    await shoot(v.page, 'triggers')
    await v.check()
    const nightly = v.page.getByRole('row', { name: /nightly/ })
    await nightly.getByRole('button', { name: 'Change' }).click()
    await v.page.getByRole('textbox', { name: 'Cron line' }).fill('0 0 31 2 *')
    await v.page.getByRole('button', { name: 'Save' }).click()
    await v.page.getByText('never fires').waitFor()
    await v.page.getByRole('textbox', { name: 'Cron line' }).fill('15 6 * * *')
    await v.page.getByRole('textbox', { name: 'Prompt' }).fill('say good morning')
    await v.check()
    await v.page.getByRole('button', { name: 'Save' }).click()
    await nightly.getByText('15 6 * * *').waitFor()
    const trigger = async () =>
      (await h.gql('{ triggers(first: 1) { nodes { id cron timeZone prompt enabled } } }')).data['triggers']
        .nodes[0]
    const { id: triggerId, ...changed } = await trigger()
    expect(changed).toEqual({
      cron: '15 6 * * *',
      timeZone: 'Asia/Tokyo',
      prompt: 'say good morning',
      enabled: false,
    })
    // Somebody else is faster: theirs stays, and the dialog says so.
    await nightly.getByRole('button', { name: 'Change' }).click()
    await h.mutate('updateTrigger', { triggerId, prompt: 'say theirs' }, 'trigger { id }')
    await nightly.getByText('say theirs').waitFor()
    await v.page.getByRole('textbox', { name: 'Prompt' }).fill('say mine')
    await v.page.getByRole('button', { name: 'Save' }).click()
    await v.page.getByText('The trigger was changed by another request').waitFor()
    expect((await trigger()).prompt).toBe('say theirs')
    await v.page.keyboard.press('Escape')
    await make('orders', 'say {order.id}')
    await v.page.getByRole('combobox', { name: 'Started by' }).selectOption('HOOK')
    await v.page.getByRole('button', { name: 'Create the trigger' }).click()
    const secret = v.page.getByRole('dialog').getByText(/^whsec_/)
    await secret.waitFor()
    await v.page.getByRole('dialog').getByText(`${h.url}/hooks/trg_`).waitFor()
    await v.page.getByRole('button', { name: 'I saved it' }).click()
    await secret.waitFor({ state: 'detached' })
    const row = v.page.getByRole('row', { name: /orders/ })
    await row.getByRole('button', { name: 'Delete' }).click()
    await v.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
    await v.check()
    await v.close()
  })

  test('where changes of gates need a second person, one proposes and another confirms', async () => {
    const { id } = await create('Guarded', { toolIds: [toolId] })
    const project = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    await h.mutate('updateProject', { id: project, gatesNeedSecond: true }, 'project { id }')
    const v = await visit(browser, h, `/agents/${id}?tab=gate`)
    await v.page.getByRole('radio', { name: /^Always/ }).check()
    await v.page.getByRole('spinbutton', { name: 'Approvals by different people' }).fill('2')
    await v.page
      .getByRole('textbox', { name: 'Why, for the person who confirms it' })
      .fill('Audit asked for it.')
    await shoot(v.page, 'gate')
    await v.page.getByRole('button', { name: 'Propose the change' }).click()
    await v.page.getByText('Proposed. Another person must confirm it.').waitFor()
    expect(await read(id, 'gate { mode }')).toEqual({ gate: null })
    await v.page.goto(`${h.url}/tools`)
    await v.page.getByText('Another person must confirm it.').waitFor()
    await v.check()
    const { secret } = await secondAdmin(project)
    const other = await visit(browser, h, '/tools', { key: secret })
    await other.page.getByText('Audit asked for it.').waitFor()
    await shoot(other.page, 'pending')
    await other.page.getByRole('button', { name: 'Confirm' }).click()
    await v.page.getByRole('heading', { name: 'Waits for a second person' }).waitFor({ state: 'detached' })
    expect(await read(id, 'gate { mode quorum }')).toEqual({ gate: { mode: 'ALWAYS', quorum: 2 } })
    await other.check()
    await other.close()
    await v.close()
  })

  test('a change of a gate that comes pushes none under the pointer that is confirmed by the same press', async () => {
    const project = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
    await h.mutate('updateProject', { id: project, gatesNeedSecond: true }, 'project { id }')
    const propose = async (name: string) => {
      const { id } = await create(name)
      const input = { targetId: id, gate: { autoApprove: false }, note: `for ${name}` }
      await h.mutate('proposeGateChange', input, 'gateChange { id }')
    }
    await propose('First')
    const { secret } = await secondAdmin(project)
    const { page, close } = await visit(browser, h, '/people/programs', { key: secret })
    await page.clock.install()
    await page.goto(`${h.url}/tools`)
    await page.getByText('for First').waitFor()
    const confirm = page.getByRole('button', { name: 'Confirm' })
    await confirm.and(page.locator(':enabled')).waitFor()
    const { x, y } = (await confirm.boundingBox())!
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 5000))
    await propose('Second')
    await expect
      .poll(async () => {
        await page.clock.runFor(50)
        return page.getByText('for Second').count()
      })
      .toBe(1)
    await page.mouse.click(x + 5, y + 5)
    await page.clock.resume()
    await confirm.and(page.locator(':enabled')).nth(1).waitFor()
    const pending = '{ gateChanges(pending: true, first: 10) { nodes { note } } }'
    expect((await h.gql(pending)).data['gateChanges'].nodes).toHaveLength(2)
    await confirm.first().click()
    await expect.poll(() => confirm.count()).toBe(1)
    await close()
  })

  test('a gate is removed only by whoever says so twice', async () => {
    const gate = { autoApprove: false }
    const input = { name: 'guarded_tool', gate, config: { client: { inputSchema: { type: 'object' } } } }
    const { project } = await h.mutate('createProject', { name: 'Removing' }, 'project { id }')
    const { tool } = await h.mutate('createTool', { projectId: project.id, ...input }, 'tool { id }')
    const { secret } = await secondAdmin(project.id)
    const { page, check, close } = await visit(browser, h, `/tools/${tool.id}?tab=gate`, { key: secret })
    const modeOf = async () =>
      (await h.gql('query($id: ID!) { tool(id: $id) { gate { mode } } }', { id: tool.id })).data['tool'].gate
        .mode
    await page.getByRole('button', { name: 'Remove this gate' }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove this gate' })
    await check()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await modeOf()).toBe('ALWAYS')
    await page.getByRole('button', { name: 'Remove this gate' }).click()
    await dialog.getByRole('button', { name: 'Remove this gate' }).click()
    await page.getByText('The gate is changed.').waitFor()
    expect(await modeOf()).toBe('NEVER')
    await close()
  })

  const secondAdmin = async (projectId: string): Promise<{ secret: string }> => {
    const made = await h.mutate('createApiKey', { name: 'second', role: 'ADMIN', projectId }, 'secret')
    return { secret: made['secret'] }
  }
})
