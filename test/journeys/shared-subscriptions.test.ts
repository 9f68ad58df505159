/** Many sockets that ask the same: each gets every event once and in order, whatever the others do meanwhile. */
import { expect, test } from 'vitest'
import { openAcknowledged, type RawSocket } from '../api/graphql/raw-socket.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())

const names =
  'subscription($after: String) { projectEvents(types: [AGENT_CREATED], after: $after) { cursor ... on AgentEvent { name } } }'
let made = 0

async function createAgents(prefix: string, count: number, instructions = ''): Promise<string[]> {
  const all = Array.from({ length: count }, (_, i) => `${prefix} ${++made} ${i}`)
  for (const name of all) await h.mutate('createAgent', { name, instructions }, 'agent { id }')
  return all
}

/** The cursor of now: what follows it is what a test creates. */
async function now(): Promise<string> {
  const { data } = await h.gql('{ viewer { project { feedCursor } } }')
  return data['viewer'].project.feedCursor
}

interface Reader {
  socket: RawSocket
  id: string
  /** The names of the next `count` events. */
  read(count: number): Promise<string[]>
}

async function openReader(after: string, key = adminKey, query = names, id = '1'): Promise<Reader> {
  const socket = await openAcknowledged(h.url, key)
  socket.send({ id, type: 'subscribe', payload: { query, variables: { after } } })
  return readerOf(socket, id)
}

function readerOf(socket: RawSocket, id: string): Reader {
  return {
    socket,
    id,
    async read(count) {
      const found: string[] = []
      while (found.length < count) {
        const message = await socket.next((one) => one.id === id)
        expect(message, JSON.stringify(message)).toMatchObject({ type: 'next', payload: { data: {} } })
        found.push(message.payload.data.projectEvents.name)
      }
      return found
    },
  }
}

const closeAll = (readers: Reader[]) => readers.forEach(({ socket }) => socket.ws.terminate())

test('those who are there, who come while events flow, and who read slowly get all events once and in order', async () => {
  const after = await now()
  const readers = await Promise.all(Array.from({ length: 8 }, () => openReader(after)))
  const slow = await openReader(after)
  slow.socket.ws.pause()
  const creating = createAgents('flow', 60)
  const late = await Promise.all(Array.from({ length: 8 }, () => openReader(after)))
  const expected = await creating
  for (const one of [...readers, ...late]) expect(await one.read(60)).toEqual(expected)
  slow.socket.ws.resume()
  expect(await slow.read(60)).toEqual(expected)
  closeAll([...readers, ...late, slow])
})

test('several subscriptions of one socket get each event under their own id, with what they asked', async () => {
  const after = await now()
  const socket = await openAcknowledged(h.url, adminKey)
  const ids = ['1', 'two', '"3" \\ é']
  for (const id of ids)
    socket.send({ id, type: 'subscribe', payload: { query: names, variables: { after } } })
  const other = 'subscription($after: String) { projectEvents(after: $after) { __typename type } }'
  socket.send({ id: 'other', type: 'subscribe', payload: { query: other, variables: { after } } })
  const expected = await createAgents('ids', 3)
  for (const id of ids) expect(await readerOf(socket, id).read(3)).toEqual(expected)
  const { payload } = await socket.next((one) => one.id === 'other')
  expect(payload).toEqual({
    data: { projectEvents: { __typename: 'AgentEvent', type: 'AGENT_CREATED' } },
  })
  socket.ws.terminate()
})

test('who unsubscribes while events flow gets nothing more, and the others everything', async () => {
  const after = await now()
  const [leaving, staying] = [await openReader(after), await openReader(after)]
  const creating = createAgents('leave', 40)
  await leaving.read(5)
  leaving.socket.send({ id: '1', type: 'complete' })
  // The pong is sent after whatever the server had sent before it read the message.
  leaving.socket.send({ type: 'ping' })
  await leaving.socket.next((one) => one.type === 'pong')
  const messages: unknown[] = []
  leaving.socket.ws.on('message', (data) => messages.push(String(data)))
  expect(await staying.read(40)).toEqual(await creating)
  expect(messages).toEqual([])
  closeAll([leaving, staying])
})

test('an id that is used again for another question gets only answers to the new one, and all of them', async () => {
  const after = await now()
  const socket = await openAcknowledged(h.url, adminKey)
  const creating = createAgents('again', 30)
  const query =
    'subscription($after: String) { projectEvents(types: [AGENT_CREATED], after: $after) { type } }'
  const answers: unknown[] = []
  let asksType = false
  const done = new Promise<void>((resolve) =>
    socket.ws.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.type === 'pong') asksType = true
      else if (asksType) answers.push(message)
      if (answers.length === 30) resolve()
    }),
  )
  for (let i = 0; i < 20; i++) {
    socket.send({ id: '1', type: 'subscribe', payload: { query: names, variables: { after } } })
    await socket.next((one) => one.type === 'next')
    socket.send({ id: '1', type: 'complete' })
  }
  // The pong is sent after whatever the server had sent before it read the last message.
  socket.send({ type: 'ping' })
  socket.send({ id: '1', type: 'subscribe', payload: { query, variables: { after } } })
  await Promise.all([done, creating])
  const payload = { data: { projectEvents: { type: 'AGENT_CREATED' } } }
  expect(answers).toEqual(Array.from({ length: 30 }, () => ({ id: '1', type: 'next', payload })))
  socket.ws.terminate()
})

test('a query whose id is used again before its answer gets none, and the new one gets its own', async () => {
  const socket = await openAcknowledged(h.url, adminKey)
  const messages: any[] = []
  socket.ws.on('message', (data) => messages.push(JSON.parse(String(data))))
  for (let i = 0; i < 20; i++) {
    socket.send({
      id: '1',
      type: 'subscribe',
      payload: { query: '{ agents(first: 100) { nodes { id name } } }' },
    })
    socket.send({ id: '1', type: 'complete' })
  }
  socket.send({ id: '1', type: 'subscribe', payload: { query: '{ viewer { name } }' } })
  await socket.next((one) => one.type === 'complete')
  expect(messages.map(({ id, type, payload }) => [id, type, Object.keys(payload?.data ?? {})])).toEqual([
    ['1', 'next', ['viewer']],
    ['1', 'complete', []],
  ])
  socket.ws.terminate()
})

test('when a key is revoked its streams end, and those of other keys with the same question go on', async () => {
  const key = async () => h.mutate('createApiKey', { name: 'reader', role: 'VIEWER' }, 'apiKey { id } secret')
  const [gone, stays] = [await key(), await key()]
  const after = await now()
  const readers = await Promise.all([
    openReader(after, gone['secret']),
    openReader(after, stays['secret']),
    openReader(after, gone['secret']),
    openReader(after),
  ])
  const before = await createAgents('revoke', 3)
  for (const one of readers) expect(await one.read(3)).toEqual(before)
  const creating = createAgents('revoke', 30)
  await h.mutate('revokeApiKey', { id: gone['apiKey'].id }, 'apiKey { id }')
  for (const i of [0, 2]) expect(await readers[i]!.socket.closed).toMatchObject({ code: 4403 })
  const later = await creating
  for (const i of [1, 3]) expect(await readers[i]!.read(30)).toEqual(later)
  closeAll(readers)
})

test('a key that may not see the object of an event gets its own refusal, whoever asked first', async () => {
  const action = ['events:Subscribe', 'generations:ReachOthers']
  const statement = [{ effect: 'Allow', action, resource: ['*'] }]
  const blind = (await h.mutate('createApiKey', { name: 'blind', policy: { statement } }, 'secret'))['secret']
  expect(blind).toMatch(/^gh_/)
  const inputSchema = { type: 'object', properties: { hidden: { type: 'string' } } }
  const config = { http: { url: 'http://127.0.0.1:9/x', inputSchema } }
  const { tool } = await h.mutate(
    'createTool',
    { name: 'pay', config, gate: { autoApprove: false } },
    'tool { id }',
  )
  const query =
    'subscription($after: String) { projectEvents(types: [APPROVAL_REQUESTED], after: $after) { ... on ApprovalRequestedEvent { name approval { arguments } } } }'
  const after = await now()
  const keys = [adminKey, blind, adminKey, blind]
  const readers = await Promise.all(keys.map((key) => openReader(after, key, query)))
  for (const words of ['first secret', 'second secret']) {
    await h.mutate('callTool', { toolId: tool.id, arguments: { hidden: words } }, 'toolCall { id }')
    for (const [i, { socket }] of readers.entries()) {
      const { payload } = await socket.next((one) => one.id === '1')
      const text = JSON.stringify(payload)
      expect(text.includes(words), `${i}: ${text}`).toBe(keys[i] === adminKey)
      if (keys[i] === blind) expect(payload.errors[0].extensions.code).toBe('FORBIDDEN')
    }
  }
  closeAll(readers)
})
