/** What a generation was started with can be read afterwards, whatever became of its agent. */
import { expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))

const fields = `{ generation(id: $id) { input { agentVersion
  messages { role content attachments { filename mediaType file { id } } }
  settings { instructions maxSteps temperature toolIds budget { tokensPerGeneration } } } } }`
const read = async (id: string, key?: string) => h.gql(`query($id: ID!) ${fields}`, { id }, key)

test('messages, files and the settings of that time are read, after the agent was changed and deleted', async () => {
  const agentId = await fixtures.agent({
    instructions: 'Be brief.',
    temperature: 0.5,
    toolIds: [fixtures.tools.look],
  })
  const { file, uploadUrl } = await h.mutate(
    'presignUpload',
    { filename: 'a.txt', contentType: 'text/plain' },
    'file { id } uploadUrl',
  )
  await fetch(uploadUrl, { method: 'PUT', body: 'text', headers: { 'content-type': 'text/plain' } })
  const messages = [
    { role: 'USER', content: 'Hello' },
    { role: 'ASSISTANT', content: 'Good day' },
    { role: 'USER', content: 'Read this' },
  ]
  const id = await fixtures.start(agentId, messages, {
    attachments: [{ fileId: file.id }],
    maxSteps: 3,
    budget: { tokensPerGeneration: 5000 },
  })
  await h.until(id, ['COMPLETED', 'FAILED'])
  await h.mutate('updateAgent', { id: agentId, instructions: 'Be long.' }, 'agent { id }')
  await h.mutate('deleteAgent', { id: agentId }, '__typename')
  const { data, errors } = await read(id)
  expect(errors).toBeUndefined()
  const plain = { attachments: [] }
  expect(data['generation'].input).toEqual({
    agentVersion: 1,
    messages: [
      { ...messages[0], ...plain },
      { ...messages[1], ...plain },
      {
        ...messages[2],
        attachments: [{ filename: 'a.txt', mediaType: 'text/plain', file: { id: file.id } }],
      },
    ],
    settings: {
      instructions: 'Be brief.',
      maxSteps: 3,
      temperature: 0.5,
      toolIds: [fixtures.tools.look],
      budget: { tokensPerGeneration: 5000 },
    },
  })
})

test('a key that may read the generation and not the agent gets the messages without the settings', async () => {
  const id = await fixtures.start(await fixtures.agent({ instructions: 'hidden' }), 'Hello')
  const policy = {
    statement: [{ effect: 'Allow', action: ['generations:Get', 'generations:ReachOthers'], resource: ['*'] }],
  }
  const { secret } = await h.mutate('createApiKey', { name: 'narrow', policy }, 'secret')
  const { data, errors } = await read(id, secret)
  expect(data['generation'].input).toMatchObject({ messages: [{ content: 'Hello' }], settings: null })
  expect(errors![0]!.extensions).toEqual({ code: 'FORBIDDEN', action: 'agents:Get' })
  expect(JSON.stringify(data)).not.toContain('hidden')
})
