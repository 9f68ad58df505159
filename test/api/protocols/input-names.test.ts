/** A wrong input is named as its protocol names it, by every protocol: the client that wrote it finds it. */
import { expect, test } from 'vitest'
import { makeFixtures } from '../../support/fixtures.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { forFile } from '../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

const long = 'x'.repeat(1_048_000)
const wrong = { type: 'object', properties: { a: { type: 'nothing' } } }
const text = [{ type: 'text', text: 'say x' }]
const responses = (more: object) => ['/v1/responses', { model: 'plain', input: 'say x', ...more }] as const
const completions = (more: object) =>
  [
    '/v1/chat/completions',
    { model: 'plain', messages: [{ role: 'user', content: 'say x' }], ...more },
  ] as const
const agUi = (more: object) =>
  [
    '/ag-ui/plain',
    { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'say x' }], ...more },
  ] as const
const chat = (more: object) =>
  [
    '/api/chat/plain',
    { id: 'c', trigger: 'submit-message', messages: [{ id: 'm', role: 'user', parts: text }], ...more },
  ] as const
const sent = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'say x' }] }
const a2a = (message: object, more: object = {}) =>
  [
    '/a2a/plain',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: {
        message: { ...sent, ...message },
        ...more,
      },
    },
  ] as const
const rest = (path: string, body: object) => [`/api/v1/${path}`, body] as const
const hosted = { type: 'web_search' }
const fn = (name: string, parameters: object = { type: 'object' }) => ({ type: 'function', name, parameters })

const cases: [place: string, request: readonly [string, object]][] = [
  ['tools[1].name', responses({ tools: [hosted, fn('not a name')] })],
  ['tools[1].parameters.properties.a.type', responses({ tools: [hosted, fn('ok', wrong)] })],
  ['tool_choice', responses({ tools: [fn('ok')], tool_choice: { type: 'function', name: 'none' } })],
  ['tool_choice', responses({ tool_choice: 'perhaps' })],
  ['temperature', responses({ temperature: 9 })],
  ['max_output_tokens', responses({ max_output_tokens: -1 })],
  [
    'text.format.schema.properties.a.type',
    responses({ text: { format: { type: 'json_schema', schema: wrong } } }),
  ],
  ['text.format.type', responses({ text: { format: { type: 'xml' } } })],
  ['instructions', responses({ instructions: long })],
  ['input', responses({ input: long })],
  ['input', responses({ input: 7 })],
  ['input[0].role', responses({ input: [{ role: 'nobody', content: 'x' }] })],
  ['previous_response_id', responses({ previous_response_id: 7 })],
  [
    'tools[0].function.name',
    completions({ tools: [{ type: 'function', function: { name: 'not a name' } }] }),
  ],
  [
    'tools[0].function.parameters.properties.a.type',
    completions({ tools: [{ type: 'function', function: { name: 'ok', parameters: wrong } }] }),
  ],
  ['temperature', completions({ temperature: 9 })],
  ['max_completion_tokens', completions({ max_tokens: -1 })],
  [
    'response_format.json_schema.schema.properties.a.type',
    completions({ response_format: { type: 'json_schema', json_schema: { schema: wrong } } }),
  ],
  ['messages', completions({ messages: [{ role: 'user', content: long }] })],
  ['messages[0].content', completions({ messages: [{ role: 'user', content: 7 }] })],
  ['logit_bias', completions({ logit_bias: { 50: 1 } })],
  ['tools.0.name', agUi({ tools: [{ name: 'not a name' }] })],
  ['tools.0.parameters.properties.a.type', agUi({ tools: [{ name: 'ok', parameters: wrong }] })],
  ['context', agUi({ context: [{ description: 'd', value: long }] })],
  ['messages', agUi({ messages: [{ id: 'm', role: 'user', content: long }] })],
  ['tools.not a name.name', chat({ tools: { 'not a name': { parameters: { type: 'object' } } } })],
  ['tools.ok.parameters.properties.a.type', chat({ tools: { ok: { parameters: wrong } } })],
  ['clientTools.0.name', chat({ clientTools: [{ name: 'not a name', inputSchema: { type: 'object' } }] })],
  ['messages', chat({ messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: long }] }] })],
  ['params.message.parts', a2a({ parts: [{ text: long }] })],
  ['message.parts', ['/a2a/plain/message:send', { message: { ...sent, parts: [{ text: long }] } }]],
  ['params.message.role', a2a({ role: 'ROLE_AGENT' })],
  ['params.configuration.historyLength', a2a({}, { configuration: { historyLength: -1 } })],
  ['body', ['/ag-ui/plain', []]],
  ['body', ['/api/chat/plain', []]],
  ['colour', rest('tools', { name: 'x', colour: 1 })],
  ['parameters.properties.a.type', rest('tools', { name: 'x', type: 'client', parameters: wrong })],
  ['step_rules.0.tool_choice', rest('agents', { step_rules: [{ step: 1, tool_choice: 'perhaps' }] })],
  ['max_steps', rest('agents', { max_steps: -1 })],
]

test.each(cases)('%s', async (place, [path, body]) => {
  const response = await fetch(`${h.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify(body),
  })
  const { error } = (await response.json()) as { error: Record<string, any> }
  const said = [
    error['param'],
    error['path'],
    error['details']?.issues?.[0]?.path.join('.'),
    (error['data'] ?? error['details'])?.[1]?.fieldViolations[0].field,
  ].filter((one) => typeof one === 'string')
  expect(said, JSON.stringify(error).slice(0, 300)).toEqual([place])
  expect(error['message'].slice(0, place.length + 2)).toBe(`${place}: `)
  // A bare "Invalid input" says nothing about what would be valid.
  expect(error['message']).not.toMatch(/: Invalid input$/)
})
