/** What webhooks refuse: addresses, sizes, numbers, other projects and missing rights. */
import { expect, test } from 'vitest'
import { openHarness } from '../../support/harness.ts'
import { openReceiver } from '../../support/webhook-receiver.ts'
import { forFile } from '../../support/for-file.ts'

const receiver = await forFile(openReceiver())
const h = await forFile(openHarness({ egressAllowPrivate: false, maxWebhooksPerProject: 2 }))

const create = (input: object, key?: string) =>
  h.mutate('createWebhook', { url: 'https://hooks.example/x', ...input }, 'secret webhook { id }', key)

test('a URL to which nothing may be sent is refused with its path', async () => {
  for (const url of [
    'http://127.0.0.1/x',
    'http://169.254.169.254/latest',
    'http://[::1]/',
    'file:///etc/passwd',
    'x',
  ])
    expect(await create({ url })).toMatchObject({ code: 'INVALID', issues: [{ path: ['input', 'url'] }] })
  expect(await create({ url: `https://x.example/${'a'.repeat(2000)}` })).toMatchObject({
    issues: [{ path: ['input', 'url'] }],
  })
  expect(await create({ types: [] })).toMatchObject({ issues: [{ path: ['input', 'types'] }] })
  // News of deliveries would cause deliveries.
  expect(await create({ types: ['AGENT_CREATED', 'WEBHOOK_FAILING'] })).toMatchObject({
    issues: [{ path: ['input', 'types', '1'] }],
  })
  expect(await create({ types: ['TEXT_DELTA'] })).toMatchObject({
    issues: [{ path: ['input', 'types', '0'] }],
  })
})

test('a name that resolves to a private address is refused when it is sent to', async () => {
  const { port } = new URL(receiver.url)
  const { project } = await h.mutate('createProject', { name: 'names' }, 'project { id }')
  const made = await create({ url: `http://localhost.localdomain:${port}/`, projectId: project.id })
  const { answer } = await h.mutate(
    'testWebhook',
    { webhookId: made['webhook'].id },
    'answer { status error }',
  )
  expect(answer).toMatchObject({ status: null, error: expect.stringMatching(/connection/) })
  expect(receiver.received).toEqual([])
})

test('a project has so many webhooks, also when they are created at once', async () => {
  const { project } = await h.mutate('createProject', { name: 'many' }, 'project { id }')
  const made = await Promise.all([1, 2, 3, 4].map(() => create({ projectId: project.id })))
  expect(made.filter((one) => one['webhook'])).toHaveLength(2)
  expect(made.filter((one) => one['code'] === 'LIMITED')).toHaveLength(2)
})

test('who may not follow events may not have them sent', async () => {
  const policy = {
    statement: [{ effect: 'Allow', action: ['webhooks:*'], resource: ['*'] }],
  }
  const key = await h.mutate('createApiKey', { name: 'k', policy }, 'secret')
  await expect(create({}, key['secret'])).rejects.toThrow(/events:Subscribe/)
})

test('a secret is shown once, and a disabled webhook is neither replayed nor sent to', async () => {
  const { webhook, secret } = await create({})
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const webhookId = webhook.id
  const changed = await h.mutate(
    'updateWebhook',
    { webhookId, enabled: false },
    'webhook { status disabledReason }',
  )
  expect(changed['webhook']).toEqual({ status: 'DISABLED', disabledReason: 'BY_REQUEST' })
  expect(await h.mutate('replayWebhook', { webhookId, after: '0' }, 'replayId')).toMatchObject({
    code: 'CONFLICT',
  })
  const gone = await h.mutate('deleteWebhook', { webhookId }, 'deletedId')
  expect(gone).toMatchObject({ deletedId: webhookId })
  expect(await h.mutate('deleteWebhook', { webhookId }, 'deletedId')).toMatchObject({ code: 'NOT_FOUND' })
})
