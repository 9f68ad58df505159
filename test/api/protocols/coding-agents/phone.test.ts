/** A person decides on a phone an hour after Claude Code has ended at its call; it is resumed, and there is one effect. */
import { describe, expect, test } from 'vitest'
import { query } from '../../../../src/store/db/database.ts'
import { sql } from '../../../../src/store/db/sql.ts'
import { hasChromium, openChromium, visit } from '../../../support/chromium.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { codingAgent } from '../../../support/peers.ts'
import { openSession } from './judged.ts'

describe.skipIf(!hasChromium || codingAgent('claude') === null)('an hour later', () => {
  test('on a phone', { timeout: 180_000 }, async () => {
    const h = await openHarness()
    const browser = await openChromium()
    const options = ['--headless', '--wait', '1']
    const session = await openSession('claude', { url: h.url, adminKey }, { options })
    try {
      const program = session.start()
      await program.ended
      const deferred = JSON.parse(program.printed())
      expect(deferred['stop_reason']).toBe('tool_deferred')
      // The clock is that of the database: what happened was an hour ago.
      for (const table of ['approvals', 'tool_calls'])
        await query(
          h.app.services.db,
          sql`update ${sql.raw(table)} set created_at = created_at - interval '1 hour' returning id`,
        )
      await query(
        h.app.services.db,
        sql`update approvals set expires_at = expires_at - interval '1 hour',
          wake_at = wake_at - interval '1 hour' returning id`,
      )
      const tab = await visit(browser, h, '/approvals', { width: 390, height: 844 })
      await tab.page.getByRole('link', { name: /Bash: echo line/ }).click()
      await tab.page.getByText('writes a line').first().waitFor()
      await tab.page.getByText('The agent waits no longer').waitFor()
      await tab.page.getByRole('button', { name: /^Approve/ }).click()
      const second = tab.page.getByRole('button', { name: /^Approve claude\?/ })
      const done = tab.page.getByText('Approved: ')
      await second.or(done).first().waitFor()
      if (await second.isVisible()) await second.click()
      await done.waitFor()
      await tab.check()
      const args = [
        '-p',
        '--resume',
        deferred['session_id'],
        '--output-format',
        'json',
        '--allowedTools',
        'Bash',
      ]
      expect(await session.start(args).ended).toBe(0)
      expect(await session.lines()).toEqual(['line'])
      const { data } = await h.gql('{ toolCalls(first: 5) { nodes { status approval { status } } } }')
      expect(data['toolCalls'].nodes).toEqual([{ status: 'SUCCEEDED', approval: { status: 'APPROVED' } }])
    } finally {
      await session.close()
      await browser.close()
      await h.stop()
    }
  })
})
