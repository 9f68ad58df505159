/**
 * A question whose arguments somebody has edited: a verdict over any protocol counts for what its author was shown, so
 * the id of the question alone approves nothing any more.
 */
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { runApis } from '../support/run-apis.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const agent = { name: 'pair', gate: { mode: 'ALWAYS', quorum: 2 } }
const door = { url: h.url, key: adminKey, agent: { name: 'pair', id: await fixtures.agent(agent) } }
const editor: string = (await h.mutate('createApiKey', { name: 'editor', role: 'ADMIN' }, 'secret'))['secret']

let count = 0
/** A run that waits at the gate, after one of two people has approved other arguments than those first asked. */
async function edited() {
  const [externalId, word] = [`edited ${++count}`, `edited-${count}`]
  const { thread } = await h.mutate('createThread', { agentId: door.agent.id, externalId }, 'thread { id }')
  const prompt = 'call act {"word":"first"}\nthen\nsay done'
  const id = await fixtures.start(door.agent.id, prompt, { threadId: thread.id })
  const { requiredAction } = await h.until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
  const approvalId = requiredAction.approvals[0].id as string
  const vote = { approvalId, verdict: 'APPROVE', arguments: { word } }
  const { approval } = await h.mutate('decideApproval', vote, 'approval { status digest }', editor)
  expect(approval.status).toBe('PENDING')
  return { run: { id, externalId }, approvalId, shownId: `${approvalId}.${approval.digest}`, word }
}
const acted = (word: string) =>
  fixtures.upstream.seen.filter(({ url, body }) => `${url} ${body}`.includes(word)).length

const names = ['responses', 'chat', 'agUi', 'copilotKit', 'a2a'] as const

describe.each(names)('over %s', (name) => {
  const decide = runApis[name].decide!

  test('an approval by the id alone is refused, and one by the id that was shown counts', async () => {
    const { run, approvalId, shownId, word } = await edited()
    const refused = await decide(door, run, approvalId, true)
    expect(refused.code).toMatch(/conflict/i)
    const { data } = await h.gql('query($id: ID!) { approval(id: $id) { status votes { verdict } } }', {
      id: approvalId,
    })
    expect(data['approval']).toMatchObject({ status: 'PENDING', votes: [{ verdict: 'APPROVE' }] })
    expect(acted(word)).toBe(0)
    expect(await decide(door, run, shownId, true)).toEqual({ status: 200, code: null })
    await h.until(run.id, ['COMPLETED'])
    expect(acted(word)).toBe(1)
  })

  test('a digest of other arguments approves nothing, and a rejection needs none', async () => {
    const { run, approvalId, word } = await edited()
    const other = await edited()
    const wrong = `${approvalId}.${other.shownId.split('.').slice(1).join('.')}`
    expect((await decide(door, run, wrong, true)).code).toMatch(/conflict/i)
    expect(acted(word)).toBe(0)
    expect((await decide(door, run, approvalId, false)).code).toBeNull()
    await h.until(run.id, ['COMPLETED'])
    expect(acted(word)).toBe(0)
  })
})
