/** A service that sends more than it was asked for, at random: no call gets the response of another one. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { dose } from '../support/dose.ts'
import { randomSchedule } from '../support/random.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { objectSchema } from '../support/fixtures.ts'

const calls = dose(200, 4000)
const atOnce = 8

/** Every response names the number that its request carried; what nobody asked for names none. */
async function haunted(random: () => number) {
  const sockets = new Set<Socket>()
  let ghosts = 0
  const respond = (text: string) =>
    `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  const unasked = [
    respond('ghost'),
    'HTTP/1.1 100 Continue\r\n\r\n',
    respond('ghost') + respond('ghost'),
    'what?',
  ]
  const answer = (socket: Socket, n: string) => {
    const own = (random() < 0.3 ? 'HTTP/1.1 100 Continue\r\n\r\n' : '') + respond(`own ${n}`)
    if (random() < 0.5) return void socket.write(own)
    ghosts++
    const ghost = unasked[Math.floor(random() * unasked.length)]!
    const how = random()
    if (how < 0.4) return void socket.write(own + ghost)
    socket.write(own)
    if (how < 0.7) return void socket.write(ghost)
    setImmediate(() => void (socket.destroyed || socket.write(ghost)))
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let found = /\{"n":(\d+)\}/.exec(text); found; found = /\{"n":(\d+)\}/.exec(text)) {
        text = text.slice(found.index + found[0].length)
        answer(socket, found[1]!)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ghosts: () => ghosts,
    close() {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    },
  }
}

test(`each of ${calls} calls of two projects has its own response`, { timeout: 600_000 }, async () => {
  const service = await haunted(randomSchedule())
  const h = await openHarness()
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const other = await h.mutate(
    'createApiKey',
    { projectId: project.id, name: 'other', role: 'ADMIN' },
    'secret',
  )
  const keys = [adminKey, other['secret'] as string]
  const config = { http: { url: service.url, inputSchema: objectSchema({ n: { type: 'number' } }) } }
  const tools: string[] = []
  for (const key of keys)
    tools.push((await h.mutate('createTool', { name: 'echo', config }, 'tool { id }', key))['tool'].id)
  let next = 0
  const wrong: unknown[] = []
  const worker = async () => {
    while (next < calls) {
      const n = next++
      const input = { toolId: tools[n % 2]!, arguments: { n } }
      const { toolCall } = await h.mutate('callTool', input, 'toolCall { status content }', keys[n % 2])
      if (toolCall.content[0].text !== `own ${n}`) wrong.push({ n, ...toolCall })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  expect(wrong).toEqual([])
  expect(service.ghosts()).toBeGreaterThan(calls / 4)
  expect(h.app.services.egress.kept.unasked).toBeGreaterThan(calls / 10)
  await h.stop()
  service.close()
})
