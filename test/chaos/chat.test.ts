/**
 * kill -9 in the middle of a chat's stream: the page resumes at the process that comes next, and shows every part once.
 * The run goes on by itself, and no call is executed twice.
 */
import { expect, test } from 'vitest'
import { openChat, partsOf, type FrontEnd } from '../api/protocols/chat/front-end.ts'
import { first, key, prompt, second, startKillable } from './killable.ts'
import { forFile } from '../support/for-file.ts'

const server = await forFile(startKillable('PGlite'))

const places: [string, (shown: unknown[]) => boolean][] = [
  ['in the first text', (shown) => String(shown[1] ?? '').includes('charlie')],
  ['after the call', (shown) => shown.includes('tool-pay output-available')],
  ['in the second text', (shown) => String(shown.at(-1)).includes('mike')],
]

test.each(places)('killed %s', { timeout: 180_000 }, async (_where, isPlace) => {
  const before = server.paid()
  const chat = openChat(server.url(), key, 'teller')
  const cut = chat.sendMessage({ text: prompt })
  await expect
    .poll(() => chat.lastMessage?.role === 'assistant' && isPlace(partsOf(chat)), {
      interval: 2,
      timeout: 90_000,
    })
    .toBe(true)
  await server.kill()
  await cut
  await server.start()
  const next: FrontEnd = openChat(server.url(), key, 'teller', { id: chat.id, messages: chat.messages })
  await next.resumeStream()
  expect(next.error).toBeUndefined()
  expect(partsOf(next)).toEqual(['step-start', first, 'tool-pay output-available', 'step-start', second])
  expect(next.messages).toHaveLength(2)
  expect(server.paid() - before).toBe(1)
})
