/** Two pages that send different messages of one conversation at the same moment: one begins a run, the other one is told. */
import { expect, test } from 'vitest'
import { makeFixtures } from '../../../support/fixtures.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

interface Sent {
  status: number
  text: string
}
async function post(path: string, body: object): Promise<Sent> {
  const response = await fetch(`${h.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

/** Sends a message behind what was said before; `answer` is the response to that. */
type Send = (conversation: string, id: string, text: string, answer?: string) => Promise<Sent>

const chat: Send = (conversation, id, text, answer) => {
  const parts = [{ type: 'text', text }]
  const known = answer && { id: /"messageId":"(msg_\w+)"/.exec(answer)![1], role: 'assistant', parts }
  const messages = [...(known ? [known] : []), { id, role: 'user', parts }]
  return post('/api/chat/plain', { id: conversation, messages, trigger: 'submit-message' })
}
const agUi: Send = (threadId, id, content) =>
  post('/ag-ui/plain', {
    threadId,
    runId: id,
    messages: [{ id, role: 'user', content }],
    tools: [],
    context: [],
  })

test.each([
  ['a chat', chat],
  ['AG-UI', agUi],
] as const)('%s', async (name, send) => {
  const pairs = Array.from({ length: 8 }, async (_, i) => {
    const conversation = `${name} ${i}`
    const { text } = await send(conversation, 'm1', 'say hello')
    const both = ['m2', 'm3'].map((id) => send(conversation, id, 'call ask {"word": "a"}', text))
    return (await Promise.all(both)).map(({ status }) => status).toSorted()
  })
  expect(await Promise.all(pairs)).toEqual(pairs.map(() => [200, 409]))
})
