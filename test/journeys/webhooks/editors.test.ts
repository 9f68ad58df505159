/** Two people at once: a change of a webhook names the version that it was made of, and the last callback is taken once. */
import { expect, test } from 'vitest'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { holdWrites } from '../../support/held-row.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { openReceiver } from '../../support/webhook-receiver.ts'
import { forFile } from '../../support/for-file.ts'

const receiver = await forFile(openReceiver((_got, response) => void response.writeHead(500).end()))
/** Where there is PostgreSQL, requests are at once on connections of their own. */
const database = hasPostgres ? await forFile(postgresDatabase()) : null
const h = await forFile(openHarness({ maxCallbacksPerProject: 2, databaseUrl: database?.url ?? null }))
const fixtures = await forFile(makeFixtures(h))

const fields = 'webhook { id version description ordered recipients { address } }'

test('of two changes of the same version one is refused, whatever it changes', async () => {
  const { webhook } = await h.mutate('createWebhook', { url: receiver.url }, fields)
  const { id: webhookId, version: expectedVersion } = webhook
  expect(expectedVersion).toBe(1)
  const { id: principalId } = (await h.gql('{ viewer { id } }')).data['viewer']
  const change = (description: string) =>
    h.mutate('updateWebhook', { webhookId, expectedVersion, description }, fields)
  const both = await Promise.all([change('one'), change('two')])
  const won = both.find((one) => one['webhook'])
  expect(both.filter((one) => one['code'] === 'CONFLICT')).toHaveLength(1)
  expect(won!['webhook']).toMatchObject({ version: 2 })

  const recipients = [{ principalId, address: 'ada@example.com' }]
  const set = (version?: number) =>
    h.mutate(
      'setWebhookRecipients',
      { webhookId, recipients, ...(version ? { expectedVersion: version } : {}) },
      fields,
    )
  expect(await set(1)).toMatchObject({ code: 'CONFLICT' })
  expect(await set(2)).toMatchObject({
    webhook: { version: 3, recipients: [{ address: 'ada@example.com' }] },
  })
  // Who names no version changes what is there.
  expect(await set()).toMatchObject({ webhook: { version: 4 } })
  expect(await h.mutate('rotateWebhookSecret', { webhookId }, fields)).toMatchObject({
    webhook: { version: 5, description: won!['webhook'].description },
  })
  expect(
    await h.mutate('updateWebhook', { webhookId, expectedVersion: 4, ordered: true }, fields),
  ).toMatchObject({
    code: 'CONFLICT',
  })
})

test('the last callbacks of a project are taken once, by runs and calls that start at once', async () => {
  const agentId = await fixtures.agent()
  const inputSchema = { type: 'object' }
  const { tool } = await h.mutate(
    'createTool',
    { name: 'act_at_once', config: { http: { url: `${fixtures.upstream.url}/act`, inputSchema } } },
    'tool { id }',
  )
  const callback = { url: receiver.url }
  const start = (idempotencyKey?: string) =>
    h.mutate(
      'startGeneration',
      { agentId, prompt: 'say hi', callback, ...(idempotencyKey ? { idempotencyKey } : {}) },
      'generation { id }',
    )
  const call = () => h.mutate('callTool', { toolId: tool.id, arguments: {}, callback }, 'toolCall { id }')
  // Each has counted, and waits to write its callback; or for the one that may count.
  const held = database && (await holdWrites(database.url, 'webhooks'))
  const pending = Promise.all([start('first'), start(), call(), call()])
  await held?.waiting(4)
  await held?.release()
  const all = await pending
  expect(all.filter((one) => one['generation'] || one['toolCall'])).toHaveLength(2)
  expect(all.filter((one) => one['code'] === 'LIMITED')).toHaveLength(2)
  const { data } = await h.gql('{ webhooks(callbacks: true, first: 10) { nodes { callbackOf } } }')
  expect(data['webhooks'].nodes).toHaveLength(2)
})

test('a repeat is answered with the first run, also when no callback is left', async () => {
  const { project } = await h.mutate('createProject', { name: 'repeats' }, 'project { id }')
  const { agent } = await h.mutate('createAgent', { projectId: project.id, name: 'hi' }, 'agent { id }')
  const start = (idempotencyKey: string) =>
    h.mutate(
      'startGeneration',
      { agentId: agent.id, prompt: 'say hi', callback: { url: receiver.url }, idempotencyKey },
      'generation { id }',
    )
  const first = await start('a')
  await start('b')
  expect(await start('c')).toMatchObject({ code: 'LIMITED' })
  expect(await start('a')).toEqual(first)
})

test('who may not change a webhook reads scheme and host of its address, wherever it is read', async () => {
  const url = 'https://hooks.example.com:8443/services/T0/B0/s3cret?token=s3cret'
  const made = await h.mutate('createWebhook', { url }, 'webhook { id url }')
  expect(made['webhook'].url).toBe(url)
  const { id } = made['webhook']
  const text = `query($id: ID!) { webhook(id: $id) { url } node(id: $id) { ... on Webhook { url } } webhooks { nodes { id url } } }`
  for (const role of ['VIEWER', 'APPROVER']) {
    const { secret } = await h.mutate('createApiKey', { name: role, role }, 'secret')
    const { data } = await h.gql(text, { id }, secret)
    expect(JSON.stringify(data)).not.toContain('s3cret')
    expect(data['webhook'].url).toBe('https://hooks.example.com:8443/…')
    expect(data['webhooks'].nodes).toContainEqual({ id, url: 'https://hooks.example.com:8443/…' })
  }
  const { secret } = await h.mutate('createApiKey', { name: 'developer', role: 'DEVELOPER' }, 'secret')
  expect((await h.gql(text, { id }, secret)).data['webhook'].url).toBe(url)
})
