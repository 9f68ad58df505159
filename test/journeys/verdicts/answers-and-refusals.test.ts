/**
 * What a gate allows beside approve and reject, with a link and in Slack: an answer in place of the tool, and a rejection that
 * also refuses later calls.
 */
import { describe, expect, test } from 'vitest'
import { makeFixtures, objectSchema } from '../../support/fixtures.ts'
import { forFile } from '../../support/for-file.ts'
import { openHarness } from '../../support/harness.ts'
import { holdStatement } from '../../support/held-statement.ts'
import { openLinkFixtures, sendForm, type Link } from '../../support/link-fixtures.ts'
import { interact, openSlackServer, pressOf, submissionOf } from '../../support/slack-server.ts'
import { headlineOf, openSlackFixtures, user } from '../../support/slack-fixtures.ts'
import { writeOf } from '../../support/verdict-around.ts'

const slack = await forFile(openSlackServer())
const h = await forFile(openHarness({ slackApiUrl: slack.url }))
const fixtures = await forFile(makeFixtures(h))
const byLink = await forFile(openLinkFixtures(h, fixtures))
const { gate } = byLink
const inSlack = await openSlackFixtures(h, fixtures, slack, gate)

const answerable = { autoApprove: false, verdictLinks: true, responses: true }
const words = 'Paid by cheque <already>.'
const same = { amount: 5, pin: 'secret-pin' }
const later = { later: 'CALLER', scope: 'EXACT', seconds: '3600' }

/** What stands in the text field of a page. */
function typedIn(html: string): string {
  const shown = /<textarea[^>]*>\n([^<]*)<\/textarea>/.exec(html)![1]!
  return shown
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

const statusOf = async (approvalId: string) => (await gate.approval(approvalId))['status']

/** Asks for the same call again, or for one with these arguments. */
const callAgain = ({ toolId }: { toolId: string }, args: object = same) => gate.call(toolId, args)

/** The call is refused at once, by a grant, and nobody is asked. */
async function expectRefused(asked: { tool: string; toolId: string }) {
  expect(await callAgain(asked)).toMatchObject({
    status: 'REJECTED',
    errorCode: 'approval_rejected',
    approval: null,
    grant: { id: expect.any(String) },
  })
  expect(gate.paid(asked.tool)).toEqual([])
}

async function expectAsked(asked: { toolId: string }, args?: object) {
  expect((await callAgain(asked, args))['status']).toBe('AWAITING_APPROVAL')
}

async function expectAnswered(callId: string, text: string) {
  const call = await gate.untilCall(callId, ['REJECTED'])
  expect(call).toMatchObject({ isError: false, content: [{ type: 'text' }, { type: 'text', text }] })
}

describe('with a link', () => {
  const send = ({ url, code }: Link, verdict: string, more: Record<string, string> = {}) =>
    sendForm(url, { code, verdict, ...more })

  test('more choices are shown to whoever knows the code, an answer only where the gate allows it', async () => {
    const open = await byLink.question(answerable)
    const closed = await byLink.question()
    for (const { links, canAnswer } of [
      { ...open, canAnswer: true },
      { ...closed, canAnswer: false },
    ]) {
      const [link] = links as [Link]
      const first = await (await fetch(link.url)).text()
      expect(first).not.toContain('RESPOND')
      const shown = await send(link, 'CHOICES', { reason: words })
      expect(shown.status).toBe(200)
      expect([shown.text.includes('value="RESPOND"'), typedIn(shown.text)]).toEqual([canAnswer, words])
      expect(shown.text).toContain('<select name="later">')
      expect(shown.text).toContain(`value="${link.code}"`)
      // A direct call has no thread and no agent.
      expect(shown.text).not.toMatch(/value="(THREAD|AGENT)"/)
    }
    const [link] = open.links as [Link]
    const wrong = await sendForm(link.url, { code: 'AAAA-AAAA', verdict: 'CHOICES', reason: words })
    expect(wrong.status).toBe(400)
    expect(wrong.text).not.toMatch(/RESPOND|<select|AAAA/)
    expect(typedIn(wrong.text)).toBe(words)
    expect([await statusOf(open.approvalId), await statusOf(closed.approvalId)]).toEqual([
      'PENDING',
      'PENDING',
    ])
  })

  test('an answer becomes the result, nothing runs, and the vote names the way', async () => {
    const { approvalId, callId, tool, links } = await byLink.question(answerable)
    const answer = await send(links[0]!, 'RESPOND', { reason: `${words}\r\nOn Monday.` })
    expect([answer.status, answer.text.includes('<h1>Answered</h1>')]).toEqual([200, true])
    await expectAnswered(callId, `${words}\nOn Monday.`)
    expect(gate.paid(tool)).toEqual([])
    const { data } = await h.gql('query($id: ID!) { approval(id: $id) { votes { via response reason } } }', {
      id: approvalId,
    })
    expect(data['approval'].votes).toEqual([{ via: 'LINK', response: `${words}\nOn Monday.`, reason: null }])
  })

  test('a rejection also refuses later calls like it, without a question', async () => {
    const asked = await byLink.question(answerable)
    const answer = await send(asked.links[0]!, 'REJECT', { reason: 'not this week', ...later })
    expect(answer.text).toContain('Later calls like it are rejected, too.')
    await expectRefused(asked)
    await expectAsked(asked, { ...same, amount: 6 })
  })

  test('what is not allowed, empty, too long or does not fit says why, decides nothing and keeps what was typed', async () => {
    const open = await byLink.question(answerable)
    const closed = await byLink.question()
    const outputSchema = objectSchema({ receipt: { type: 'string' } }, ['receipt'])
    const typed = await byLink.question(answerable, { outputSchema })
    const long = '語'.repeat(20_001)
    const tries: [typeof open, string, Record<string, string>, string][] = [
      [closed, 'RESPOND', { reason: words }, 'The answer is not allowed by the gates'],
      [open, 'RESPOND', { reason: ' \r\n' }, 'The answer must have at least 1 character'],
      [open, 'RESPOND', { reason: long }, 'The answer must have at most 20000 characters'],
      [typed, 'RESPOND', { reason: words }, 'The answer must be JSON that fits the output schema'],
      [open, 'REJECT', { reason: long, ...later }, 'The reason must have at most 2000 characters'],
      [open, 'REJECT', { reason: words, ...later, later: 'AGENT' }, 'must be one of the choices'],
      [open, 'REJECT', { reason: words, ...later, seconds: '99999999' }, 'must be one of the choices'],
      [open, 'APPROVE', { reason: words, ...later }, 'goes with a rejection or an answer only'],
    ]
    for (const [{ links, approvalId }, verdict, fields, why] of tries) {
      const { status, text } = await send(links[0]!, verdict, fields)
      expect([status, text.includes('<h1>Not counted</h1>')], why).toEqual([422, true])
      expect(text).toContain(why)
      expect(typedIn(text)).toBe(fields['reason'])
      if (fields['later'] === 'CALLER') expect(text).toContain('<option value="CALLER" selected>')
      expect(await statusOf(approvalId)).toBe('PENDING')
    }
    // The same code decides after all of them.
    expect((await send(open.links[0]!, 'RESPOND', { reason: words })).status).toBe(200)
  })

  test('a reason with a NUL is kept without it', async () => {
    const { callId, links } = await byLink.question()
    expect((await send(links[0]!, 'REJECT', { reason: 'no\0body' })).status).toBe(200)
    expect(JSON.stringify((await gate.untilCall(callId, ['REJECTED']))['content'])).toContain('no\ufffdbody')
  })

  test('an answer and a lasting refusal at once: one counts, and the other leaves nothing behind', async () => {
    const asked = await byLink.question(answerable)
    const [answer, refusal] = await Promise.all([
      send(asked.links[0]!, 'RESPOND', { reason: words }),
      send(asked.links[1]!, 'REJECT', later),
    ])
    expect([answer.status, refusal.status].toSorted()).toEqual([200, 409])
    expect((await gate.approval(asked.approvalId))['votes']).toHaveLength(1)
    await (refusal.status === 200 ? expectRefused(asked) : expectAsked(asked))
  })
})

describe('in Slack', () => {
  const textOf = (value: unknown) => JSON.stringify(value)

  /** Presses a button that asks for words; returns the modal. */
  async function modal(message: Record<string, any>, action: 'reject' | 'respond') {
    expect(await interact(h.url, pressOf(message, action, user))).toEqual({ status: 200, body: null })
    return slack.views.at(-1)!
  }

  test('an answer is asked for in a modal and becomes the result; a second press at once is told so', async () => {
    const { approvalId, callId, tool, message } = await inSlack.question(answerable)
    const view = await modal(message, 'respond')
    const replies = await Promise.all([1, 2].map(() => interact(h.url, submissionOf(view, words, user))))
    expect(replies.map(({ body }) => body?.errors?.reason ?? null)).toContain(null)
    expect(textOf(replies)).toMatch(/faster/)
    await expectAnswered(callId, words)
    expect(gate.paid(tool)).toEqual([])
    expect((await gate.approval(approvalId))['votes']).toHaveLength(1)
    const shown = await inSlack.untilShown(approvalId, 'Answered')
    expect(textOf(shown)).toMatch(/Answered by key \d+ in Slack\./)
    // The answer is a result of the tool, and the channel does not see its arguments either.
    expect(textOf(shown)).not.toContain('cheque')
    expect(slack.faults).toEqual([])
  })

  test('where arguments are shown, the answer is, too, within the limits of Slack', async () => {
    await h.mutate('setSlackIntegration', { showArguments: true }, 'integration { id }')
    const { approvalId, message } = await inSlack.question(answerable)
    const view = await modal(message, 'respond')
    await interact(h.url, submissionOf(view, `${words}${'x'.repeat(3000 - words.length)}`, user))
    expect(textOf(await inSlack.untilShown(approvalId, 'Answered'))).toContain(`in Slack: ${words}`)
    await h.mutate('setSlackIntegration', { showArguments: false }, 'integration { id }')
    expect(slack.faults).toEqual([])
  })

  test('where the gate does not allow it there is no button, and a forged press or modal decides nothing', async () => {
    const { approvalId, message } = await inSlack.question()
    expect(textOf(message)).not.toContain('gatehouse_respond')
    const allowed = await inSlack.question(answerable)
    const press = pressOf(allowed.message, 'respond', user)
    const view = await modal(allowed.message, 'respond')
    const { value } = pressOf(message, 'approve', user)['actions'][0]
    const [before, views] = [slack.ephemeral.length, slack.views.length]
    await interact(h.url, { ...press, actions: [{ ...press['actions'][0], value }] })
    expect(slack.ephemeral.slice(before)).toEqual([
      { user, text: expect.stringContaining('do not allow an answer') },
    ])
    expect(slack.views).toHaveLength(views)
    const forged = await interact(h.url, submissionOf({ ...view, private_metadata: value }, words, user))
    expect(forged.body.errors.reason).toContain('The answer is not allowed by the gates')
    const empty = await interact(h.url, submissionOf(view, ' ', user))
    expect(empty.body.errors.reason).toBe('The answer must have at least 1 character.')
    expect([await statusOf(approvalId), await statusOf(allowed.approvalId)]).toEqual(['PENDING', 'PENDING'])
  })

  test('a rejection also refuses later calls: the message says until when, and the next is refused without a question', async () => {
    const asked = await inSlack.question()
    const view = await modal(asked.message, 'reject')
    const odd = await interact(h.url, submissionOf(view, 'no', user, { ...later, later: 'AGENT' }))
    expect(odd.body.errors.reason).toContain('must be one of the choices')
    expect(await interact(h.url, submissionOf(view, 'no', user, later))).toEqual({ status: 200, body: null })
    const shown = textOf(await inSlack.untilShown(asked.approvalId, 'Rejected'))
    expect(shown).toMatch(/Later calls like it are rejected until \d{4}-\d\d-\d\d \d\d:\d\d UTC/)
    await expectRefused(asked)
    const plain = await inSlack.question()
    await interact(h.url, submissionOf(await modal(plain.message, 'reject'), 'no', user))
    expect(textOf(await inSlack.untilShown(plain.approvalId, 'Rejected'))).not.toContain('Later calls')
    await expectAsked(plain)
  })

  test('for a call of a run, later calls of its agent can be refused', async () => {
    const tool = await gate.gated({ autoApprove: false })
    const agentId = await fixtures.agent({ toolIds: [tool.id] })
    const prompt = `call ${tool.name} {"amount": 1}\nthen\nsay done`
    const [asked] = await gate.pending(await fixtures.start(agentId, prompt))
    await slack.until(() => inSlack.message(asked!['id']) !== undefined)
    const view = await modal(inSlack.message(asked!['id'])!, 'reject')
    await interact(h.url, submissionOf(view, null, user, { ...later, later: 'AGENT' }))
    const done = await h.until(
      await fixtures.start(agentId, prompt),
      ['COMPLETED'],
      'toolCalls { status approval { id } }',
    )
    expect(done['toolCalls']).toEqual([{ status: 'REJECTED', approval: null }])
  })

  test('a refusal that comes after Slack was answered is said in the channel', async () => {
    const { approvalId, message } = await inSlack.question(answerable)
    const view = await modal(message, 'respond')
    const held = holdStatement(h.app.services.db, writeOf(approvalId))
    const before = slack.ephemeral.length
    const late = interact(h.url, submissionOf(view, words, user))
    await held.arrived
    // Slack closes the modal: its answer had no errors.
    expect(await late).toEqual({ status: 200, body: null })
    await gate.decide(approvalId, 'REJECT')
    held.release()
    await slack.until(() => slack.ephemeral.length > before)
    expect(slack.ephemeral.at(-1)).toEqual({ user, text: expect.stringContaining('faster') })
    expect(headlineOf(await inSlack.untilShown(approvalId, 'Rejected'))).toBe('Rejected')
  })
})
