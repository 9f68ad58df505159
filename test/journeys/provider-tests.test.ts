/** Which providers agents can name, and what a test of one says: over the wire of each kind, without keys and addresses. */
import { afterEach, describe, expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { startStrictProvider, testKey } from '../support/strict-provider.ts'
import { tryModel } from '../../src/domain/generations/usable-providers.ts'
import { openModel } from '../../src/domain/models/providers/open-model.ts'
import { forFile } from '../support/for-file.ts'

const provider = await forFile(startStrictProvider())
const none = { apiKey: null, baseUrl: null }
const ofGoogle = { apiKey: testKey, baseUrl: provider.settings('google').baseUrl }
// The only process of its database counts exactly.
const h = await forFile(
  openHarness({
    databaseUrl: null,
    models: { openai: none, anthropic: none, google: ofGoogle, compatible: none },
  }),
)
// It accepts requests and never answers.
const silent = await forFile(startLoopback(() => {}))
await h.mutate('setSecret', { name: 'KEY', value: testKey }, 'secret { name }')
afterEach(() => expect(provider.clear()).toBe(0))

const set = (name: string, kind: string, more: object = {}) =>
  h.mutate(
    'setProvider',
    { name, kind, secretName: 'KEY', defaultModel: 'small', ...more },
    'provider { id }',
  )
const tryIt = (input: object, key?: string) =>
  h.mutate('testProvider', input, 'model ok milliseconds error { code message }', key)

test('the providers of project, environment and server are listed, and those of the project take precedence', async () => {
  const list = async () =>
    (await h.gql('{ modelProviders { name kind source defaultModel } }')).data['modelProviders']
  const builtin = { name: 'builtin', kind: 'BUILTIN', source: 'BUILTIN', defaultModel: 'rehearsal' }
  const google = { name: 'google', kind: 'GOOGLE', source: 'ENVIRONMENT', defaultModel: null }
  expect(await list()).toEqual([builtin, google])
  await set('azure', 'OPENAI')
  await set('google', 'GOOGLE')
  expect(await list()).toEqual([
    { name: 'azure', kind: 'OPENAI', source: 'PROJECT', defaultModel: 'small' },
    builtin,
    { ...google, source: 'PROJECT', defaultModel: 'small' },
  ])
  await h.mutate('deleteProvider', { name: 'google' }, 'deleted')
  // The provider of the environment has no default model.
  expect(await tryIt({ name: 'google' })).toMatchObject({ __typename: 'ValidationError' })
  provider.script({ text: 'yes' })
  expect(await tryIt({ name: 'google', model: 'flash' })).toMatchObject({ ok: true, model: 'google/flash' })
  expect(await tryIt({ name: 'builtin' })).toMatchObject({ ok: true, model: 'builtin/rehearsal' })
})

describe('a test', () => {
  test.each(['ANTHROPIC', 'OPENAI', 'GOOGLE', 'COMPATIBLE'] as const)(
    'of a provider of the kind %s asks for a few tokens, once, and is in the audit',
    async (kind) => {
      const name = kind.toLowerCase() as 'anthropic' | 'openai' | 'google' | 'compatible'
      const { baseUrl } = provider.settings(name)
      await set(name, kind, { baseUrl })
      provider.script({ text: 'yes' })
      const before = provider.journal.length
      expect(await tryIt({ name })).toMatchObject({
        model: `${name}/small`,
        ok: true,
        error: null,
        milliseconds: expect.any(Number),
      })
      expect(provider.journal.slice(before)).toMatchObject([{ wire: name, model: 'small', fault: null }])
      expect(JSON.stringify(provider.journal.at(-1)!.body)).toContain('16')
      const { data } = await h.gql('{ auditEntries(first: 1) { nodes { action resource details } } }')
      expect(data['auditEntries'].nodes[0]).toMatchObject({
        action: 'providers:Test',
        resource: `provider/${name}`,
        details: { model: `${name}/small`, ok: true },
      })
    },
  )

  test('names another model, and says why that did not answer without key and address', async () => {
    const { baseUrl } = provider.settings('anthropic')
    await set('denied', 'ANTHROPIC', { baseUrl })
    provider.script({ status: 401, message: `The key ${testKey} is wrong at ${provider.url}` })
    const answer = await tryIt({ name: 'denied', model: 'other' })
    expect(answer).toMatchObject({ model: 'denied/other', ok: false, error: { code: 'MODEL_AUTH' } })
    expect(JSON.stringify(answer)).not.toContain(testKey)
    expect(JSON.stringify(answer)).not.toContain(new URL(provider.url).host)
    const { data } = await h.gql('{ auditEntries(first: 1) { nodes { details } } }')
    expect(data['auditEntries'].nodes[0].details).toMatchObject({ ok: false, code: 'MODEL_AUTH' })
  })

  test('of a provider that is not there, or has no key, is a result too', async () => {
    await set('gone', 'COMPATIBLE', { baseUrl: 'http://127.0.0.1:9/v1' })
    expect(await tryIt({ name: 'gone' })).toMatchObject({ ok: false, error: { code: 'MODEL_UNAVAILABLE' } })
    await set('keyless', 'OPENAI', { secretName: null })
    expect(await tryIt({ name: 'keyless' })).toMatchObject({
      ok: false,
      error: { code: 'MODEL_NOT_CONFIGURED' },
    })
    expect(await tryIt({ name: 'nobody' })).toMatchObject({ __typename: 'NotFoundError' })
  })

  test('of a silent provider ends at its time limit, and closes the connection', async () => {
    const settings = { ...provider.settings('compatible'), baseUrl: `${silent.url}/v1` }
    const trial = await tryModel('slow/small', () => openModel(settings, 'small'), {
      firstChunkMs: 50,
      idleMs: 50,
      totalMs: 100,
    })
    expect(trial).toMatchObject({ ok: false, error: { code: 'MODEL_UNAVAILABLE' } })
  })

  test('counts as ten requests of its caller, and is refused without them', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'tester', role: 'DEVELOPER' }, 'secret')
    const own = await h.gql('{ viewer { id } }', {}, secret)
    await h.mutate(
      'setRateLimit',
      { scope: 'KEY', targetId: own.data['viewer'].id, perMinute: 13 },
      'rateLimit { perMinute }',
    )
    await set('counted', 'COMPATIBLE', { baseUrl: 'http://127.0.0.1:9/v1' })
    expect(await tryIt({ name: 'counted' }, secret)).toMatchObject({ ok: false })
    expect(await tryIt({ name: 'counted' }, secret)).toMatchObject({ __typename: 'LimitReachedError' })
  })

  test('is not for who may only read', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'reader', role: 'VIEWER' }, 'secret')
    const { errors } = await h.gql(
      'mutation { testProvider(input: { name: "builtin" }) { __typename } }',
      {},
      secret,
    )
    expect(errors![0]).toMatchObject({ extensions: { code: 'FORBIDDEN', action: 'providers:Test' } })
  })
})
