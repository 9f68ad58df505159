/** The model that the frameworks of a measurement share. */
import { expect, it } from 'vitest'
import { startPeer } from '../../bench/peer.ts'
import { forFile } from '../support/for-file.ts'

const model = await forFile(startPeer('model'))

async function answerTo(messages: object[], stream: boolean): Promise<string> {
  const body = JSON.stringify({ model: 'bench', messages, stream })
  return (await fetch(`${model.url}/v1/chat/completions`, { method: 'POST', body })).text()
}

const question = { role: 'user', content: 'Go.' }
const output = { role: 'tool', tool_call_id: 'call_1', content: 'ok' }

it('calls the tool until it has the output, streamed and whole', async () => {
  const whole = async (messages: object[]) => JSON.parse(await answerTo(messages, false)).choices[0]
  expect(await whole([question])).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'ask', arguments: '{"word":"x"}' } }] },
  })
  expect(await whole([question, output])).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'done' },
  })
  const called = await answerTo([question], true)
  expect(called).toContain('"name":"ask"')
  expect(called).toContain('data: [DONE]')
  expect(await answerTo([question, output], true)).toContain('"content":"done"')
})

it('gives every answer and every call an id of its own: frameworks tell messages apart by them', async () => {
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    const { id, choices } = JSON.parse(await answerTo([question], false))
    ids.push(id, choices[0].message.tool_calls[0].id)
  }
  expect(new Set(ids).size).toBe(4)
})
