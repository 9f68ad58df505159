/** A stream has a place from its first moment, for every client: also one that heard nothing before it was cut. */
import { createClient as createSseClient } from 'graphql-sse'
import { createClient } from 'graphql-ws'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startCuttable } from '../../support/cuttable.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

interface Item {
  type: string
  cursor: string
  fileId?: string
}
interface Told {
  data?: { projectEvents: Item } | null
}

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

const makeFile = async (key: string = adminKey): Promise<string> => {
  const upload = { filename: 'a.txt', contentType: 'text/plain' }
  return (await h.mutate('presignUpload', upload, 'file { id }', key))['file'].id
}
const query = `subscription($after: String) { projectEvents(after: $after, types: [FILE_CREATED]) { type cursor
  ... on FileEvent { fileId } } }`

/** A client as programs write them: it keeps the cursor of each item, and subscribes again from there when it is cut. */
type Open = (
  url: string,
  variables: Record<string, unknown>,
  hear: (told: Told) => void,
  key: string,
) => { close(): unknown }

const overSockets: Open = (url, variables, hear, key) => {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, 20)),
  })
  client.subscribe<Told['data']>(
    { query, variables },
    { next: hear as never, error: () => {}, complete: () => {} },
  )
  return { close: () => client.dispose() }
}

const overEventStreams: Open = (url, variables, hear, key) => {
  const client = createSseClient({
    url: `${url}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    retry: () => new Promise((resolve) => setTimeout(resolve, 20)),
  })
  client.subscribe<Told['data']>(
    { query, variables },
    { next: hear as never, error: () => {}, complete: () => {} },
  )
  return { close: () => client.dispose() }
}

/** Follows through a connection that is cut before anything has happened. Returns the files that were told of. */
async function quietThenCut(open: Open, key: string): Promise<{ made: string[]; told: Item[] }> {
  const proxy = await startCuttable(h.url)
  const told: Item[] = []
  let news = () => {}
  const until = async (count: number) => {
    while (told.length < count) await new Promise<void>((resolve) => (news = resolve))
  }
  const variables: Record<string, unknown> = {}
  const hear = ({ data }: Told) => {
    variables['after'] = data!.projectEvents.cursor
    told.push(data!.projectEvents)
    news()
  }
  const client = open(proxy.url, variables, hear, key)
  await until(1)
  const back = proxy.leave()
  const made = [await makeFile(key), await makeFile(key)]
  back()
  await until(3)
  made.push(await makeFile(key))
  await until(4)
  await client.close()
  await proxy.close()
  return { made, told }
}

describe.each([
  ['graphql-ws', overSockets],
  ['graphql-sse', overEventStreams],
] as const)('a client of %s', (_name, open) => {
  test('that was quiet when it was cut has every event once', async () => {
    const { made, told } = await quietThenCut(open, adminKey)
    expect(told.map(({ type }) => type)).toEqual(['STREAM_STARTED', ...made.map(() => 'FILE_CREATED')])
    expect(told.slice(1).map(({ fileId }) => fileId)).toEqual(made)
  })

  test('that reaches only its own is told where it begins as well', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'own', role: 'CALLER' }, 'secret')
    await makeFile()
    const { made, told } = await quietThenCut(open, secret)
    expect(told.slice(1).map(({ fileId }) => fileId)).toEqual(made)
  })
})

test('the start is the place of the snapshot at that moment, in a project without events, too', async () => {
  const project = (await h.mutate('createProject', { name: 'empty' }, 'project { id }'))['project'].id
  const first = async (projectId: string) =>
    (
      await h.collect(
        'subscription($id: ID) { projectEvents(projectId: $id) { __typename type cursor projectId } }',
        { id: projectId },
        () => true,
      )
    )[0]
  const cursorOf = async (id: string) =>
    (await h.gql('query($id: ID!) { project(id: $id) { feedCursor } }', { id })).data['project'].feedCursor
  const own = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
  for (const projectId of [project, own])
    expect(await first(projectId)).toEqual({
      __typename: 'StreamStartedEvent',
      type: 'STREAM_STARTED',
      cursor: await cursorOf(projectId),
      projectId,
    })
})

test('a stream whose place is known begins with an event: after a cursor, and that of a run', async () => {
  const { data } = await h.gql('{ viewer { project { feedCursor } } }')
  const fileId = await makeFile()
  const after = data['viewer'].project.feedCursor
  expect(await h.collect(query, { after }, () => true)).toMatchObject([{ type: 'FILE_CREATED', fileId }])
  const generationId = await fixtures.start(await fixtures.agent(), 'say done')
  const run = 'subscription($id: ID!) { generationEvents(generationId: $id) { type } }'
  expect(await h.collect(run, { id: generationId }, () => true)).toEqual([{ type: 'GENERATION_QUEUED' }])
})
