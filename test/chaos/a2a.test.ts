/**
 * kill -9 in the middle of a streamed task: the client comes back to the process that comes next, gets the task as it is
 * and the rest of its text, and no call is executed twice. The message that began the task finds it again.
 */
import type { StreamResponse } from '@a2a-js/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  collect,
  data,
  foldStream,
  message,
  ofTask,
  openClient,
  questionsOf,
  send,
  stateOf,
  textsOf,
} from '../api/protocols/a2a/clients.ts'
import { first, key, kinds, prompt, second, startKillable, type Killable } from './killable.ts'

describe.each(kinds)('on %s', (kind) => {
  let server: Killable
  beforeAll(async () => {
    server = await startKillable(kind)
  })
  afterAll(() => server?.close())

  /** Where the process is killed, by what the client has then. */
  const places: [string, (texts: Record<string, string>) => boolean][] = [
    ['before any text', () => true],
    ['in the first text', (texts) => (texts['text-1'] ?? '').includes('charlie')],
    ['in the second text', (texts) => (texts['text-2'] ?? '').includes('mike')],
  ]
  test.each(places)('killed %s', { timeout: 180_000 }, async (_where, isPlace) => {
    const before = server.paid()
    const client = await openClient(server.url(), 'teller', key)
    const request = message(prompt)
    const got: StreamResponse[] = []
    const cut = (async () => {
      for await (const event of client.sendMessageStream(request)) {
        got.push(event)
        if (isPlace(foldStream(got).texts)) return server.kill()
      }
      throw new Error('The task ended before the kill.')
    })()
    await cut
    const { id } = foldStream(got)
    await server.start()
    const next = await openClient(server.url(), 'teller', key)
    got.push(...(await collect(next.resubscribeTask({ tenant: '', id }))))
    const seen = foldStream(got)
    const whole = { 'text-1': first, 'text-2': second }
    expect(seen.texts, 'the pieces are the text').toEqual(whole)
    expect(seen.states.at(-1)).toBe('COMPLETED')
    const read = await next.getTask(ofTask(id))
    expect(textsOf(read)).toEqual(whole)
    expect(await send(next, request), 'the message finds its task again').toEqual(read)
    expect(server.paid() - before).toBe(1)
  })

  test(
    'killed while it asks: the question is asked again, and its answer runs the call once',
    {
      timeout: 180_000,
    },
    async () => {
      const before = server.paid()
      const client = await openClient(server.url(), 'careful', key)
      const waiting = await send(client, message('call pay {}\nthen\nsay paid'))
      await server.kill()
      await server.start()
      const next = await openClient(server.url(), 'careful', key)
      const again = await next.getTask(ofTask(waiting.id))
      expect(again).toEqual(waiting)
      const answer = data({ approvalId: questionsOf(again)[0]!['approvalId'], verdict: 'APPROVE' })
      const request = message([answer], { taskId: waiting.id })
      // The process is killed when the verdict is on its way: it was given or not, and giving it again is safe.
      const lost = send(next, request).catch(() => null)
      await server.kill()
      await lost
      await server.start()
      const last = await openClient(server.url(), 'careful', key)
      expect(stateOf(await send(last, request))).toBe('COMPLETED')
      expect(server.paid() - before).toBe(1)
    },
  )
})
