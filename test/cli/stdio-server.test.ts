/** Servers behind `gatehouse connect` that do not behave: what they cost is bounded, and nobody waits for them in vain. */
import { afterAll, expect, test } from 'vitest'
import { StdioServer } from '../../cli/stdio-server.ts'

const servers: StdioServer[] = []
afterAll(() => Promise.all(servers.map((one) => one.stop())))

/** A child that runs this program, in which `line(message)` writes one and `input()` resolves with the lines so far. */
function start(program: string): StdioServer {
  const helpers = `
    const fs = require('node:fs')
    const line = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
    const alive = setInterval(() => {}, 1000)
    process.on('SIGTERM', () => process.exit(0))`
  const server = new StdioServer(process.execPath, ['-e', `${helpers}\n${program}`])
  servers.push(server)
  return server
}

const request = (method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 'any', method, params })
const heard = (from: StdioServer) => new Promise<void>((resolve) => (from.onChanged = resolve))
const changed = `{ method: 'notifications/tools/list_changed' }`

test('one that asks without end and reads nothing gets few answers', async () => {
  const asked = 100_000
  const child = start(`
    for (let n = 0; n < ${asked}; n++) line({ id: n, method: 'ping' })
    process.stdout.write('', () => {
      line(${changed})
      let answered = 0, rest = ''
      process.stdin.on('data', (chunk) => {
        const lines = (rest + chunk).split('\\n')
        rest = lines.pop()
        for (const text of lines) {
          const message = JSON.parse(text)
          if (message.method === 'count') line({ id: message.id, result: { answered } })
          else answered++
        }
      })
    })`)
  await heard(child)
  const counted = (await child.ask('count', request('count'))) as { result: { answered: number } }
  expect(counted.result.answered).toBeLessThan(asked / 2)
})

test('one that does not read gets only so much', async () => {
  const child = start(`line(${changed})`)
  await heard(child)
  const text = 'x'.repeat(1024 * 1024)
  const answers = Array.from({ length: 40 }, (_, n) =>
    child.ask(`call-${n}`, request('tools/call', { text })),
  )
  expect(await Promise.any(answers)).toMatchObject({
    error: { message: 'The server does not read its input.' },
  })
})

test('nobody waits for the answer to a request that was cancelled', async () => {
  const child = start(`process.stdin.resume()`)
  const asked = child.ask('first', request('tools/call'))
  await child.ask(
    'second',
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'first' } }),
  )
  expect(await asked).toBeUndefined()
})

test('one that closes its input or its output and stays has ended', async () => {
  const closing = async (what: string, file: number) => {
    const child = start(`line(${changed}); process.stdout.write('', () => fs.closeSync(${file}))`)
    await heard(child)
    // Its pipe may still be open at the first of them.
    const asked: Promise<unknown>[] = []
    const again = setInterval(() => asked.push(child.ask(`call-${asked.length}`, request('tools/call'))), 50)
    expect(await child.ended).toContain(`has closed its ${what}`)
    clearInterval(again)
    for (const answer of await Promise.all(asked)) expect(answer).toBeUndefined()
  }
  await Promise.all([closing('input', 0), closing('output', 1)])
})
