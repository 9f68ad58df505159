/** A legacy server with sessions: it reports changes, sends requests during a call, and loses sessions. */
import { beforeEach, expect, it } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { startLegacy, type LegacyServer } from '../../support/legacy-server.ts'
import { saveTo, type Saved } from '../../support/upstream-services.ts'
import { forFile } from '../../support/for-file.ts'

let server: LegacyServer
let one: Saved
const h = await forFile(openHarness())
beforeEach(async () => {
  server = await startLegacy()
  one = await saveTo(h.app.services, server.url, { ring: true })
  await one.until((state) => state.status === 'CONNECTED')
  return () => server.close()
})

it('learns of a new tool over the session, well within a second', async () => {
  // The stream opens after the session itself.
  await expect
    .poll(
      async () => {
        const name = `new${Math.floor(performance.now())}`
        const told = Date.now()
        server.add(name)
        const changed = one.until((state) => state.catalog.tools.some((tool) => tool.name === name))
        await Promise.race([changed, new Promise((resolve) => setTimeout(resolve, 1500))])
        return Date.now() - told
      },
      { timeout: 90_000 },
    )
    .toBeLessThan(800)
  expect(await one.state()).toMatchObject({ status: 'CONNECTED', era: 'legacy' })
})

it('shares one session among calls, and opens another when the server has lost it', async () => {
  const before = server.opened()
  await Promise.all([one.call('one'), one.call('one'), one.call('one')])
  expect(server.opened()).toBe(before)
  await server.forget()
  const again = await Promise.all([one.call('one'), one.call('one')])
  for (const { result } of again) expect(result).toMatchObject({ isError: false })
  expect(server.calls).toHaveLength(5)
  await one.until((state) => state.status === 'CONNECTED')
})

it('relays a server request during a call to a caller that can respond, and declines it otherwise', async () => {
  const alone = await one.call('ask')
  expect(alone.result.isError).toBe(true)
  const asked: unknown[] = []
  const lines: unknown[] = []
  const answered = await one.call(
    'ask',
    {},
    {
      relay: {
        clientCapabilities: { elicitation: { form: {} } },
        logLevel: 'info',
        ask: async ({ method, params }) => {
          asked.push([method, params['message']])
          return { action: 'accept', content: { name: 'Ada' } }
        },
        notify: ({ params }) => lines.push(params['data']),
      },
    },
  )
  expect(asked).toEqual([['elicitation/create', 'Who are you?']])
  expect(answered.result.content[0].text).toBe('accept Ada')
  expect(lines).toEqual(['asked'])
  const failing = await one.call(
    'ask',
    {},
    {
      relay: {
        clientCapabilities: { elicitation: { form: {} } },
        ask: () => Promise.reject(new Error('nobody is there')),
      },
    },
  )
  expect(failing.result.content[0].text).toBe('decline ')
})

it.each([400, 404, 405])(
  'keeps the session of a server that responds with %i to its stream, and calls over it',
  async (status) => {
    const silent = await startLegacy()
    silent.refuseStreams(status)
    const two = await saveTo(h.app.services, silent.url)
    expect(await two.refresh()).toMatchObject({ status: 'CONNECTED', era: 'legacy' })
    for (let calls = 1; calls <= 3; calls++)
      expect(await two.call('one')).toMatchObject({ result: { isError: false } })
    expect(silent.opened()).toBe(1)
    await silent.close()
  },
)
