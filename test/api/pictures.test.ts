/** Pictures and other files inside messages, sent by the official client of each protocol that has them. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { hasPeers } from '../support/peers.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'
import * as a2a from './protocols/a2a/clients.ts'
import { openAgent, openPage } from './protocols/ag-ui/clients.ts'
import { openChat } from './protocols/chat/front-end.ts'
import { openClient } from '../support/openai-clients.ts'

let h: Harness
let fixtures: Fixtures
beforeAll(async () => {
  // The clients print the refusals that these tests are about.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  h = await openHarness()
  fixtures = await makeFixtures(h)
  await fixtures.agent({ name: 'plain' })
})
afterAll(async () => {
  vi.restoreAllMocks()
  await fixtures?.close()
  await h?.stop()
})

let count = 0
/** Bytes that no other test sends, as a picture. */
function picture() {
  const bytes = Buffer.from(`\u0089PNG ${++count}`, 'latin1')
  const base64 = bytes.toString('base64')
  return { bytes, base64, url: `data:image/png;base64,${base64}` }
}
type Sent = { base64: string; url: string }
interface Protocol {
  /** Sends a message with the file; a refusal rejects, with the path in its message. */
  send(picture: Sent): Promise<unknown>
  /** Where a fault of the picture is. */
  path: string
}

const said = 'say seen'
const agUiContent = (value: string) => [
  { type: 'text', text: said },
  { type: 'image', source: { type: 'data', value, mimeType: 'image/png' } },
]
const protocols: Record<string, Protocol> = {
  Responses: {
    path: 'input[0].content[1].image_url',
    async send({ url }) {
      const client = await openClient(6, h.url, adminKey)
      const content = [
        { type: 'input_text' as const, text: said },
        { type: 'input_image' as const, image_url: url, detail: 'auto' as const },
      ]
      await client.responses.create({ model: 'plain', input: [{ role: 'user', content }] })
    },
  },
  'chat completions': {
    path: 'messages[0].content[1].image_url.url',
    async send({ url }) {
      const client = await openClient(6, h.url, adminKey)
      const content = [
        { type: 'text' as const, text: said },
        { type: 'image_url' as const, image_url: { url } },
      ]
      await client.chat.completions.create({ model: 'plain', messages: [{ role: 'user', content }] })
    },
  },
  'the chat of the AI SDK': {
    path: 'messages.0.parts.0.url',
    async send({ url }) {
      const chat = openChat(h.url, adminKey, 'plain')
      await chat.sendMessage({ text: said, files: [{ type: 'file', mediaType: 'image/png', url }] })
      if (chat.error) throw chat.error
    },
  },
  ...(hasPeers && {
    'AG-UI': {
      path: 'messages.0.content.1.source.value',
      async send({ base64 }) {
        const page = await openAgent(h.url, adminKey, 'plain')
        page.addMessage({ id: `m${++count}`, role: 'user', content: agUiContent(base64) })
        await page.runAgent()
      },
    },
    CopilotKit: {
      path: 'messages.0.content.1.source.value',
      async send({ base64 }) {
        const { core, agent, errors } = await openPage(h.url, adminKey, 'plain', `pictures ${++count}`)
        agent.addMessage({ id: `m${count}`, role: 'user', content: agUiContent(base64) })
        await core.runAgent({ agent })
        if (errors[0]) throw new Error(errors[0].message)
      },
    },
  }),
  A2A: {
    path: 'params.message.parts.1.url',
    async send({ url }) {
      const client = await a2a.openClient(h.url, 'plain', adminKey)
      await a2a.send(client, a2a.message([a2a.text(said), a2a.file(url)]))
    },
  },
}

const newest = async () =>
  (
    await h.gql(
      `{ generations(first: 1) { nodes { id status
        input { messages { content attachments { mediaType file { id contentType sha256 downloadUrl } } } } } } }`,
    )
  ).data['generations'].nodes[0]
const files = async () =>
  (await h.gql('{ files(first: 100) { nodes { id } } }')).data['files'].nodes as { id: string }[]

describe.each(Object.entries(protocols))('%s', (_name, { send, path }) => {
  test('a picture is stored as a file, and the run has it; the same one again is the same file', async () => {
    const given = picture()
    await send(given)
    const { id, input } = await newest()
    await h.until(id, ['COMPLETED'])
    const { content, attachments } = input.messages[0]
    expect([content, attachments]).toMatchObject([said, [{ mediaType: 'image/png' }]])
    const { file } = attachments[0]
    expect(file.sha256).toBe(createHash('sha256').update(given.bytes).digest('hex'))
    const stored = await fetch(file.downloadUrl)
    expect(Buffer.from(await stored.arrayBuffer())).toEqual(given.bytes)
    const before = await files()
    await send(given)
    const again = await newest()
    expect(again.id).not.toBe(id)
    expect(again.input.messages[0].attachments[0].file.id).toBe(file.id)
    expect(await files()).toEqual(before)
  })

  test('bytes that are none are refused at their place, and nothing is stored', async () => {
    const before = await files()
    await expect(send({ base64: 'no bytes!', url: 'data:image/png;base64,no bytes!' })).rejects.toThrow(path)
    expect(await files()).toEqual(before)
  })
})

test('one picture in two messages at once is one file', async () => {
  const given = picture()
  const before = await files()
  await Promise.all([protocols['Responses']!.send(given), protocols['A2A']!.send(given)])
  expect(await files()).toHaveLength(before.length + 1)
})

test('a message with more files than it may have is refused before anything is stored', async () => {
  const before = await files()
  const client = await openClient(6, h.url, adminKey)
  const images = Array.from({ length: 21 }, () => {
    const { url } = picture()
    return { type: 'input_image' as const, image_url: url, detail: 'auto' as const }
  })
  const content = [{ type: 'input_text' as const, text: said }, ...images]
  const sent = client.responses.create({ model: 'plain', input: [{ role: 'user', content }] })
  await expect(sent).rejects.toMatchObject({ status: 400, param: 'input[0].content[21].image_url' })
  expect(await files()).toEqual(before)
})

test('bytes beyond the limit of a file, and of a project, are refused', async () => {
  for (const limits of [{ maxFileBytes: 8 }, { maxProjectFileBytes: 8 }]) {
    const tight = await openHarness(limits)
    try {
      await tight.mutate('createAgent', { name: 'plain' }, 'agent { id }')
      const client = await openClient(6, tight.url, adminKey)
      const send = (bytes: string) =>
        client.responses.create({
          model: 'plain',
          input: [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: said },
                { type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${btoa(bytes)}` },
              ],
            },
          ],
        })
      await expect(send('too large')).rejects.toMatchObject({ status: 413 })
      expect(await send('as large')).toMatchObject({ status: 'completed' })
    } finally {
      await tight.stop()
    }
  }
})

test('the raw bytes of A2A are a file with their name', async () => {
  const { bytes } = picture()
  const client = await a2a.openClient(h.url, 'plain', adminKey)
  const part = { ...a2a.file(''), content: { $case: 'raw' as const, value: bytes } }
  const named = { ...part, filename: 'table.csv', mediaType: 'text/csv' }
  await a2a.send(client, a2a.message([a2a.text(said), named]))
  const [{ attachments }] = (await newest()).input.messages
  expect(attachments).toMatchObject([{ mediaType: 'text/csv', file: { contentType: 'text/csv' } }])
})

describe('a file of a response is refused at its place', () => {
  const create = async (input: object[], key = adminKey) => {
    const client = await openClient(6, h.url, key)
    return client.responses.create({ model: 'plain', input: input as never })
  }
  const user = (...parts: object[]) => ({
    role: 'user',
    content: [{ type: 'input_text', text: said }, ...parts],
  })
  const image = (image_url: string) => ({ type: 'input_image', image_url })

  test.each<[string, string, RegExp]>([
    ['a picture elsewhere', 'https://example.com/cat.png', /data URL/],
    ['no base64', 'data:image/png,abc', /data URL/],
    ['an empty file', 'data:image/png;base64,', /bytes/],
    [
      'a type that is not accepted',
      `data:image/svg+xml;base64,${btoa('<svg/>')}`,
      /contentType is not an accepted/,
    ],
    ['a type that is none', `data:picture;base64,${btoa('x')}`, /media type/],
  ])('%s', async (_what, url, message) => {
    await expect(create([user(image(url))])).rejects.toMatchObject({
      status: 400,
      param: 'input[0].content[1].image_url',
      message: expect.stringMatching(message),
    })
  })

  test('in a message before the last one of a new conversation', async () => {
    const { url } = picture()
    const answer = { role: 'assistant', content: [{ type: 'output_text', text: 'seen' }] }
    await expect(create([user(image(url)), answer, user()])).rejects.toMatchObject({
      status: 400,
      param: 'input[0].content[1].image_url',
    })
  })

  test('by a key that may not create files', async () => {
    const statement = [{ effect: 'Allow', action: ['generations:*', 'events:Subscribe'], resource: ['*'] }]
    const { secret } = await h.mutate('createApiKey', { name: 'k', policy: { statement } }, 'secret')
    const before = await files()
    await expect(create([user(image(picture().url))], secret)).rejects.toMatchObject({ status: 403 })
    expect(await files()).toEqual(before)
  })
})
