/** What providers, databases and tools write in their errors stays out of the log. */
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { loggable } from '../../src/core/log.ts'
import { createLog } from '../../src/logging.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from 'drizzle-orm'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { forFile } from '../support/for-file.ts'

const key = 'sk-live-0123456789abcdef0123456789abcdef'
const prompt = 'The launch code is 7-4-1-1.'

let lines = ''
const provider = await forFile(
  startLoopback((request, response) => {
    const message = `Cannot read ${request.body} with ${request.headers['authorization']}`
    response.writeHead(400, { 'content-type': 'application/json', 'x-echo': 'header-echo' })
    response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
  }),
)
const into = new Writable({
  write(chunk, _encoding, done) {
    lines += String(chunk)
    done()
  },
})
const h = await forFile(openHarness({}, { log: createLog('debug', into) }))

test('a failed model call logs neither the prompt, the answer nor the key', async () => {
  await h.mutate('setSecret', { name: 'KEY', value: key }, 'secret { name }')
  const settings = { kind: 'COMPATIBLE', baseUrl: provider.url, secretName: 'KEY', defaultModel: 'm' }
  await h.mutate('setProvider', { name: 'echo', ...settings }, 'provider { name }')
  const { agent } = await h.mutate('createAgent', { name: 'leaky', model: 'echo/m' }, 'agent { id }')
  const { generation } = await h.mutate('startGeneration', { agentId: agent.id, prompt }, 'generation { id }')
  await h.until(generation.id, ['FAILED'])
  expect(provider.seen[0]!.body).toContain(prompt)
  expect(lines).toContain('a generation failed')
  expect(lines).toContain('"statusCode":400')
  for (const secret of [key, '7-4-1-1', 'header-echo', 'invalid_request_error'])
    expect(lines).not.toContain(secret)
})

test('a query that fails logs its code and not its parameters', async () => {
  const failed = await query(h.app.services.db, sql`select ${'s3cret'}::int`).catch((error: unknown) => error)
  const shown = JSON.stringify(loggable(failed))
  expect(shown).toContain('22P02')
  expect(shown).not.toContain('s3cret')
})

test('an error is logged by allow-list: kind, codes and stack, and only our own messages', () => {
  class Foreign extends Error {
    override name = 'AI_APICallError'
    statusCode = 500
    requestBodyValues = { prompt }
    responseBody = key
    url = 'http://10.0.0.1/secret'
  }
  const cause = new TypeError(`Headers.append: "Bearer ${key}" is an invalid header value.`)
  const shown = loggable(new Foreign(`It said ${key}\n    and ${prompt}`, { cause }))
  expect(shown).toMatchObject({ type: 'AI_APICallError', statusCode: 500, cause: { type: 'TypeError' } })
  expect((shown['stack'] as string[])[0]).toContain('logs.test')
  for (const secret of [key, prompt, '10.0.0.1']) expect(JSON.stringify(shown)).not.toContain(secret)
  expect(loggable(new TypeError("Cannot read properties of undefined (reading 'id')"))).toMatchObject({
    message: "Cannot read properties of undefined (reading 'id')",
  })
  const refused = Object.assign(new Error(`connect ${key}`), { code: 'ECONNREFUSED', syscall: 'connect' })
  expect(loggable(refused)).toMatchObject({ message: 'connect ECONNREFUSED' })
  expect(loggable(key)).toEqual({ type: 'string' })
})
