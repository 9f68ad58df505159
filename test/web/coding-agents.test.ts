/** The question of a coding agent on a phone: what it may do, the change of a file, and that it is decided an hour later. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasChromium, openChromium, picture, visit } from '../support/chromium.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'

describe.skipIf(!hasChromium)('the question of a coding agent', { timeout: 180_000 }, () => {
  let browser: Browser
  let h: Harness
  let key: string

  beforeAll(async () => {
    browser = await openChromium()
    h = await openHarness()
    await h.mutate('addCodingAgent', { agent: 'CLAUDE' }, 'tool { id }')
    key = (await h.mutate('createApiKey', { name: 'Claude Code on laptop', role: 'CALLER' }, 'secret'))[
      'secret'
    ]
  })
  afterAll(async () => {
    await browser?.close()
    await h?.stop()
  })

  const ask = async (id: string, tool_name: string, tool_input: object) => {
    const body = {
      hook_event_name: 'PreToolUse',
      session_id: 's1',
      cwd: '/home/ada/shop',
      tool_name,
      tool_input,
    }
    const response = await fetch(`${h.url}/v1/agent/claude/hook?wait=0`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, tool_use_id: id }),
    })
    const answer = (await response.json()) as any
    return answer.hookSpecificOutput.permissionDecision as string
  }

  test('shows marks, the reason of the agent as its own, and the lines that change; a session is granted', async () => {
    const edit = {
      file_path: 'src/price.ts',
      old_string: 'a\nconst tax = 7\nb',
      new_string: 'a\nconst tax = 19\nb',
    }
    expect(await ask('t1', 'Edit', edit)).toBe('deny')
    const { data } = await h.gql('{ approvals(first: 1) { nodes { id } } }')
    const tab = await visit(browser, h, `/approvals/${data['approvals'].nodes[0].id}`, {
      width: 390,
      height: 844,
    })
    const { page } = tab
    await page.getByRole('heading', { name: 'Edit: src/price.ts' }).waitFor()
    const wants = page.getByLabel('What the agent wants')
    await expect.poll(() => wants.innerText()).toContain('writes below the working directory')
    const change = await page.getByRole('group', { name: 'The change' }).innerText()
    expect(change.replace(/\s+/g, ' ')).toContain('- removed: const tax = 7')
    expect(change.replace(/\s+/g, ' ')).toContain('+ added: const tax = 19')
    expect(await wants.innerText()).toContain('The agent waits no longer')
    expect(await page.locator('main').innerText()).toContain('Claude Code on laptop')
    await picture(tab, 'coding-agent-question')
    await tab.check()
    await page.locator('.verdict-more > summary').click()
    await page.getByLabel('Also approve later calls').check()
    await page
      .getByLabel('With')
      .selectOption({ label: 'any write below the working directory in this session' })
    await page
      .getByRole('button', { name: /^Approve/ })
      .first()
      .click()
    // On a phone not every argument has been on the screen, unless the checks took long: then a second press says so.
    const second = page.getByRole('button', { name: /^Approve claude\?/ })
    await second.or(page.getByText('Approved: ')).first().waitFor()
    if (await second.isVisible()) await second.click()
    await page.getByText('Approved: ').waitFor()
    expect(await ask('t1', 'Edit', edit)).toBe('allow')
    expect(await ask('t2', 'Write', { file_path: 'notes.md', content: 'x' })).toBe('allow')
    expect(await ask('t3', 'Write', { file_path: '/etc/hosts', content: 'x' })).toBe('deny')
    await tab.close()
  })

  test('of a command shows what is deleted and the words of the agent; no session can be granted', async () => {
    await ask('t4', 'Bash', { command: 'rm -r build', description: 'Clean up, as the user asked' })
    const { data } = await h.gql('{ approvals(first: 1) { nodes { id } } }')
    const tab = await visit(browser, h, `/approvals/${data['approvals'].nodes[0].id}`)
    const wants = tab.page.getByLabel('What the agent wants')
    await expect.poll(() => wants.innerText()).toContain('deletes or overwrites')
    expect(await wants.innerText()).toContain('nobody has checked: Clean up, as the user asked')
    await tab.page.locator('.verdict-more > summary').click()
    await tab.page.getByLabel('Also approve later calls').check()
    expect(await tab.page.getByLabel('With').innerText()).not.toContain('session')
    await tab.check()
    await tab.close()
  })

  test('is rejected and stopped: its session is refused, and the vote says it', async () => {
    await ask('t5', 'Bash', { command: 'rm -r src' })
    const { data } = await h.gql('{ approvals(first: 1) { nodes { id } } }')
    const tab = await visit(browser, h, `/approvals/${data['approvals'].nodes[0].id}`)
    const { page } = tab
    await page.locator('.verdict-more > summary').click()
    await page.getByLabel('If rejected, end the session').check()
    expect(await page.getByLabel('With').count()).toBe(0)
    await tab.check()
    await page.getByRole('button', { name: /^Reject and stop/, disabled: false }).click()
    await page.getByText('Rejected: ').waitFor()
    expect(await ask('t6', 'Bash', { command: 'rm -r test' })).toBe('deny')
    expect((await h.gql('{ approvals(first: 1) { nodes { id } } }')).data).toEqual(data)
    await page.goto(`${h.url}/approvals?tab=decided`)
    await page.getByRole('link', { name: 'Decided' }).click()
    await page.getByText('and ended what asked').waitFor()
    await tab.close()
  })

  test('a run can be stopped by whoever may cancel it, and a direct call by nobody', async () => {
    const gate = gateFixtures(h, await makeFixtures(h))
    const tool = await gate.gated({ autoApprove: false })
    const direct = (await gate.call(tool.id))['approval'].id
    const run = await gate.ask(tool)
    const [asked] = await gate.pending(run)
    const { secret } = await gate.key({ role: 'APPROVER' })
    const choice = 'If rejected, end the run'
    for (const [id, by] of [
      [direct, adminKey],
      [asked!['id'], secret],
    ]) {
      const tab = await visit(browser, h, `/approvals/${id}`, { key: by })
      await tab.page.locator('.verdict-more > summary').click()
      await tab.page.getByLabel('Also reject later calls').waitFor()
      expect(await tab.page.getByLabel(/^If rejected/).count()).toBe(0)
      await tab.close()
    }
    const tab = await visit(browser, h, `/approvals/${asked!['id']}`)
    await tab.page.locator('.verdict-more > summary').click()
    await tab.page.getByLabel(choice).check()
    await tab.page.getByRole('button', { name: /^Reject and stop/, disabled: false }).click()
    await tab.page.getByText('Rejected: ').waitFor()
    expect(await h.until(run, ['CANCELLED'])).toBeTruthy()
    await tab.close()
  })
})
