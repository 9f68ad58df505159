/** Chat completions, judged by OpenAI's own clients: text, streams, calls, gates, endings and conversations. */
import type { OpenAI } from 'openai6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeFixtures, objectSchema, type Fixtures } from '../../../support/fixtures.ts'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { majors, openClient } from '../../../support/openai-clients.ts'

type Messages = OpenAI.Chat.ChatCompletionMessageParam[]

let h: Harness
let fixtures: Fixtures
let plain: string

beforeAll(async () => {
  h = await openHarness()
  fixtures = await makeFixtures(h)
  plain = await fixtures.agent({ name: 'plain' })
  await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
})
afterAll(async () => {
  await fixtures?.close()
  await h?.stop()
})

const user = (content: string) => ({ role: 'user' as const, content })

describe.each(majors)('openai %i', (major) => {
  let client: OpenAI
  beforeAll(async () => {
    client = await openClient(major, h.url, adminKey)
  })

  test('text, by name and by id, and the next turn is in the same thread', async () => {
    for (const model of ['plain', plain]) {
      const messages: Messages = [user(`say hello ${major} ${model}`)]
      const made = await client.chat.completions.create({ model, messages })
      expect(made).toMatchObject({
        object: 'chat.completion',
        model,
        choices: [{ index: 0, finish_reason: 'stop', message: { content: `hello ${major} ${model}` } }],
      })
      messages.push(made.choices[0]!.message, user('say on'))
      const next = await client.chat.completions.create({ model, messages })
      expect(next.choices[0]!.message.content).toBe('on')
    }
  })
})
