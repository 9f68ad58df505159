/** The tour, as a first start in a terminal shows it: the server is really killed, comes back, and the refund runs once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { hasTerminal, openTerminal } from '../docs/terminal.ts'
import { ask, mutate } from '../support/ask.ts'
import { hasChromium, openChromium, visit } from '../support/chromium.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { commandOf, freePort, isAlive, parentOf, signal } from '../support/processes.ts'

const entry = resolve(import.meta.dirname, '../../dist/main.js')
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A first start, as `npm start` does it. */
async function firstStart() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-tour-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const terminal = await openTerminal(folder, {
    PATH: process.env['PATH']!,
    GATEHOUSE_PORT: String(port),
    GATEHOUSE_DATA_DIR: join(folder, 'data'),
    GATEHOUSE_ADMIN_KEY: adminKey,
  })
  closers.push(() => terminal.close())
  const server = await terminal.paste(`exec '${process.execPath}' '${entry}'`)
  const [, link] = await server.shows(/Dashboard +(http:\/\/\S+)/)
  const url = new URL(link!).origin
  const tour = async () =>
    (await ask(url, adminKey, '{ viewer { tour { processId effects } } }')).data['viewer'].tour
  return { url, link: link!.slice(url.length), port, server, tour }
}

describe.skipIf(!hasChromium || !hasTerminal)('the tour', { timeout: 300_000 }, () => {
  test('gate, kill -9, approve, one effect: the process is another one, and the shop paid back once', async () => {
    const { url, link, server, tour } = await firstStart()
    const v = await visit(await openChromium(), { url }, link, {
      key: null,
      expected: /ERR_|WebSocket|Failed to load resource/,
    })
    const { page } = v
    await page.waitForURL(/\/tour$/)
    const stages = page.locator('.tour > ol > li')
    const isDone = async () => stages.evaluateAll((all) => all.map((one) => one.hasAttribute('data-done')))
    await expect.poll(isDone).toEqual([true, false, false, false])
    await page.getByText('which is another program: 0').waitFor()
    await v.check()

    const { processId } = await tour()
    await page.getByRole('button', { name: `kill -9 ${processId}` }).click()
    await page.getByText(`Process ${processId} was killed.`).waitFor()
    expect(isAlive(processId)).toBe(false)
    const next = await tour()
    expect(next.processId).not.toBe(processId)
    await expect.poll(isDone).toEqual([true, true, false, false])
    await server.shows(/Gatehouse is running[\s\S]+Gatehouse is running/)

    await page.locator('.approve:enabled').click()
    await page.getByText('which is another program: 1').waitFor()
    await expect.poll(isDone).toEqual([true, true, true, true, false])
    await page.getByText('Attempts of the call: 1').waitFor()
    await page.getByRole('link', { name: 'Put Claude or Cursor behind the gate' }).waitFor()
    await v.check()

    // A second kill, and another refund: what the shop has paid back is not forgotten with the server.
    await page.getByRole('button', { name: 'Once more' }).click()
    await page.getByRole('button', { name: `kill -9 ${next.processId}` }).click()
    await page.getByText(`Process ${next.processId} was killed.`).waitFor()
    await page.getByText('which is another program: 1').waitFor()
    // Who opens the dashboard again has seen it.
    await page.goto(url)
    await page.waitForURL(/\/insights$/)
    await v.close()
    await server.interrupt()
    await expect(ask(url, adminKey, '{ __typename }')).rejects.toThrow()
  })

  test('a request that is sent again kills nothing, and neither process outlives the other', async () => {
    const { url, server, tour } = await firstStart()
    const { processId } = await tour()
    const kill = (id: number) => mutate(url, adminKey, 'killServer', { processId: id }, 'processId')
    expect(await kill(processId)).toMatchObject({ processId })
    await expect
      .poll(async () => (await tour().catch(() => null))?.processId ?? processId)
      .not.toBe(processId)
    await expect(kill(processId)).rejects.toThrow(/CONFLICT|does not answer/)
    const { processId: second } = await tour()
    expect(commandOf(second)).toContain('--supervised')
    // The supervising process is killed: nobody would start the other one again.
    signal(parentOf(second)!)
    await server.ended
    await expect.poll(() => isAlive(second)).toBe(false)
  })
})

test('elsewhere there is a recording, and only an operator sees the tour', async () => {
  const h = await openHarness({ demo: true })
  closers.push(() => h.stop())
  const read = (key: string) => h.gql('{ viewer { tour { canKill effects processId } } }', {}, key)
  const { tour } = (await read(adminKey)).data['viewer']
  expect(tour).toEqual({ canKill: false, effects: 0, processId: process.pid })
  const kill = (key: string) => h.mutate('killServer', { processId: process.pid }, 'processId', key)
  expect(await kill(adminKey)).toMatchObject({ __typename: 'ConflictError' })
  const { secret } = await h.mutate('createApiKey', { name: 'other', role: 'ADMIN' }, 'secret')
  expect(await kill(secret).catch(String)).toContain('FORBIDDEN')
  expect((await read(secret)).data).toEqual({ viewer: { tour: null } })
})
