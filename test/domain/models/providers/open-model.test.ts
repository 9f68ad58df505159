/** From a provider record to a port: what is required, what is assumed, and that the environment is never read. */
import { expect, test, vi } from 'vitest'
import { openModel, type ProviderSettings } from '../../../../src/domain/models/providers/open-model.ts'
import { attemptOf, failureOf, requestOf } from '../../../support/conversation.ts'
import { AppError } from '../../../../src/core/errors.ts'
import { startStrictProvider } from '../../../support/strict-provider.ts'

function settings(more: Partial<ProviderSettings>): ProviderSettings {
  const fetch = () => Promise.reject(new Error('nobody is called'))
  return {
    name: 'p',
    kind: 'openai',
    baseUrl: null,
    apiKey: 'k',
    capabilities: {},
    contextWindow: null,
    fetch,
    ...more,
  }
}

test.each(['openai', 'anthropic', 'google'] as const)('%s without a key is not configured', async (kind) => {
  vi.stubEnv('OPENAI_API_KEY', 'from-the-environment')
  await expect(openModel(settings({ kind, apiKey: null }), 'm')).rejects.toMatchObject({
    name: 'ModelError',
    code: 'MODEL_NOT_CONFIGURED',
    retryable: false,
  })
  vi.unstubAllEnvs()
})

test('a compatible server needs an address and no key', async () => {
  await expect(openModel(settings({ kind: 'compatible' }), 'm')).rejects.toMatchObject({
    code: 'MODEL_NOT_CONFIGURED',
  })
  const provider = await startStrictProvider()
  provider.script({ text: 'ok' })
  const port = await openModel(provider.settings('compatible', { apiKey: null }), 'llama3')
  await attemptOf(port, requestOf('hi'))
  expect(provider.journal[0]!.headers['authorization']).toBeUndefined()
  await provider.close()
})

test('the builtin provider has the rehearsal model and no other', async () => {
  const port = await openModel(settings({ name: 'builtin', kind: 'builtin', apiKey: null }), 'rehearsal')
  expect(port).toMatchObject({ name: 'builtin/rehearsal', providerKind: 'builtin', contextWindow: null })
  await expect(openModel(settings({ kind: 'builtin' }), 'gpt')).rejects.toMatchObject({
    code: 'MODEL_NOT_CONFIGURED',
  })
})

test('the record overrides the defaults of its kind', async () => {
  const port = await openModel(
    settings({
      kind: 'compatible',
      baseUrl: 'http://x/v1',
      capabilities: { images: true },
      contextWindow: 8192,
    }),
    'm',
  )
  expect(port.capabilities).toEqual({
    images: true,
    files: false,
    parallelTools: true,
    structuredOutput: false,
  })
  expect(port.contextWindow).toBe(8192)
})

test.each([
  ['openai', 'https://api.openai.com/v1/responses'],
  ['anthropic', 'https://api.anthropic.com/v1/messages'],
  ['google', 'https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse'],
] as const)('%s is called at its public address, whatever the environment says', async (kind, address) => {
  for (const name of ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL'])
    vi.stubEnv(name, 'http://elsewhere.example/v1')
  const called: string[] = []
  const fetch = (url: unknown) => {
    called.push(String(url))
    return Promise.reject(new TypeError('fetch failed'))
  }
  expect(await failureOf(await openModel(settings({ kind, fetch }), 'm'), requestOf('hi'))).toMatchObject({
    retryable: true,
  })
  expect(called).toEqual([address])
  vi.unstubAllEnvs()
})

test('an address that the guarded fetch refuses is not tried again, and not named in the error', async () => {
  const fetch = () => Promise.reject(new AppError('FORBIDDEN', 'http://169.254.169.254 is private'))
  const error = await failureOf(await openModel(settings({ fetch }), 'm'), requestOf('hi'))
  expect(error).toMatchObject({ code: 'MODEL_BAD_REQUEST', retryable: false })
  expect(error.message).not.toContain('169.254')
})

test('encrypted reasoning is requested from models that have it, and nothing is stored at OpenAI', async () => {
  const provider = await startStrictProvider()
  for (const [model, include] of [
    ['gpt-5', ['reasoning.encrypted_content']],
    ['gpt-4o', undefined],
  ] as const) {
    provider.script({ text: 'ok' })
    await attemptOf(await openModel(provider.settings('openai'), model), requestOf('hi'))
    expect(provider.journal.at(-1)!.body).toMatchObject({ store: false })
    expect(provider.journal.at(-1)!.body['include']).toEqual(include)
  }
  await provider.close()
})
