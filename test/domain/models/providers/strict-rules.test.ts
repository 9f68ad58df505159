/** The strict test provider: each of its rules refuses what it must refuse. */
import { describe, expect, test } from 'vitest'
import { faultOf, type Issued } from '../../../support/strict-rules.ts'

const issued: Issued = {
  seals: new Set(['seal']),
  byCall: new Map([
    ['a', { seal: 'seal', from: 'openai/gpt-5' }],
    ['t', { seal: 'seal', from: 'anthropic/claude' }],
  ]),
}

type Body = Record<string, any>

/** A Gemini tool whose argument has this schema. */
function declared(argument: object) {
  return {
    tools: [
      { functionDeclarations: [{ name: 'f', parameters: { type: 'object', properties: { argument } } }] },
    ],
  }
}

function schema(type = 'object') {
  return { type, properties: {} }
}

describe('OpenAI Responses', () => {
  const reasoning = { type: 'reasoning', id: 'rs', encrypted_content: 'seal', summary: [] }
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'a', output: 'ok' }
  const tools = [{ type: 'function', name: 'f', parameters: schema(), strict: false }]
  const include = ['reasoning.encrypted_content']
  const good: Body = {
    model: 'gpt-5',
    stream: true,
    store: false,
    include,
    tools,
    input: [reasoning, call, output],
  }
  test('a good request passes', () => expect(faultOf('openai', good, issued)).toBeNull())
  test.each<[string, Body, RegExp]>([
    ['a call without a result', { input: [reasoning, call] }, /no result/],
    ['a result without a call', { input: [output] }, /does not answer/],
    ['a call without its reasoning', { input: [call, output] }, /reasoning before a is missing/],
    ['reasoning at the end', { input: [reasoning] }, /required following item/],
    [
      'reasoning nobody issued',
      { input: [{ ...reasoning, encrypted_content: 'x' }, call, output] },
      /verified/,
    ],
    [
      'reasoning without content',
      { input: [{ ...reasoning, encrypted_content: null }, call, output] },
      /not persisted/,
    ],
    ['a reference to an item', { input: [{ type: 'item_reference', id: 'x' }] }, /not found/],
    [
      'arguments that are no object',
      { input: [reasoning, { ...call, arguments: '[' }, output] },
      /no JSON object/,
    ],
    ['history stored at the provider', { store: true }, /store/],
    ['a strict tool', { tools: [{ ...tools[0], strict: true }] }, /strict/],
    [
      'a schema that is no object',
      { tools: [{ ...tools[0], parameters: schema('string') }] },
      /type "object"/,
    ],
    ['an illegal name', { tools: [{ ...tools[0], name: 'a.b' }] }, /not allowed/],
    ['sealed reasoning of a model without', { model: 'gpt-4o', input: [] }, /not supported with this model/],
  ])('%s is refused', (_, change, fault) => {
    expect(faultOf('openai', { ...good, ...change }, issued)).toMatch(fault)
  })
})

describe('Anthropic', () => {
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'seal' }
  const use = { type: 'tool_use', id: 't', name: 'f', input: {} }
  const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' }
  const user = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
  const conversation = (asked: object[], told: object[]) => ({
    messages: [user, { role: 'assistant', content: asked }, { role: 'user', content: told }],
  })
  const tools = [{ name: 'f', input_schema: schema() }]
  const good: Body = { model: 'claude', max_tokens: 10, tools, ...conversation([thinking, use], [result]) }
  test('a good request passes', () => expect(faultOf('anthropic', good, issued)).toBeNull())
  test.each<[string, Body, RegExp]>([
    [
      'a use without a result',
      conversation([thinking, use], [{ type: 'text', text: 'x' }]),
      /without `tool_result`/,
    ],
    [
      'results in another order',
      conversation([thinking, use, { ...use, id: 'u' }], [{ ...result, tool_use_id: 'u' }, result]),
      /without/,
    ],
    ['a result of nothing', { messages: [{ role: 'user', content: [result] }] }, /without its tool_use/],
    ['one id twice', conversation([thinking, use, use], [result, result]), /unique/],
    ['a use without its thought', conversation([use], [result]), /thinking block is missing/],
    [
      'a forged signature',
      conversation([{ ...thinking, signature: 'x' }, use], [result]),
      /Invalid `signature`/,
    ],
    ['a blank text', conversation([thinking, { type: 'text', text: ' ' }, use], [result]), /non-empty/],
    [
      'an id with a dot',
      conversation([{ ...use, id: 'a.b' }], [{ ...result, tool_use_id: 'a.b' }]),
      /pattern/,
    ],
    ['calls without tools', { tools: [] }, /must be defined/],
    ['no limit', { max_tokens: undefined }, /max_tokens/],
  ])('%s is refused', (_, change, fault) => {
    expect(faultOf('anthropic', { ...good, ...change }, issued)).toMatch(fault)
  })
})

describe('Gemini', () => {
  const call = { functionCall: { id: 'x', name: 'f', args: {} }, thoughtSignature: 'seal' }
  const answer = { functionResponse: { id: 'x', name: 'f', response: {} } }
  const contents = (asked: object[], told: object[]) => ({
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: asked },
      { role: 'user', parts: told },
    ],
  })
  const good: Body = { $model: 'gemini-3-pro', ...contents([call], [answer]) }
  test('a good request passes', () => expect(faultOf('google', good, issued)).toBeNull())
  test.each<[string, Body, RegExp]>([
    ['a call without an answer', contents([call], [{ text: 'x' }]), /number of function response parts/],
    ['one answer for two calls', contents([call, call], [answer]), /number of function response parts/],
    ['an answer twice', contents([call], [answer, answer]), /number of function response parts/],
    [
      'a missing signature',
      contents([{ ...call, thoughtSignature: undefined }], [answer]),
      /missing a thought_signature/,
    ],
    ['a forged signature', contents([{ ...call, thoughtSignature: 'x' }], [answer]), /Corrupted/],
    ['an answer of nothing', contents([{ text: 'x' }], [answer]), /immediately after/],
    ['a field that it does not know', declared({ oneOf: [] }), /Unknown name "oneOf"/],
    ['a list of types', declared({ type: ['string', 'null'] }), /not repeating/],
    ['a value that is no text', declared({ enum: [1] }), /TYPE_STRING/],
    ['a required name without a property', declared({ required: ['a'] }), /not defined/],
  ])('%s is refused', (_, change, fault) => {
    expect(faultOf('google', { ...good, ...change }, issued)).toMatch(fault)
  })
})

describe('compatible chat', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const result = { role: 'tool', tool_call_id: 'a', content: 'ok' }
  const messages = (calls: object[], ...rest: object[]) => ({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: calls },
      ...rest,
    ],
  })
  const good: Body = { ...messages([call], result) }
  test('a good request passes', () => expect(faultOf('compatible', good, issued)).toBeNull())
  test.each<[string, Body, RegExp]>([
    ['a call without a result', messages([call]), /no result/],
    ['a message before the result', messages([call], { role: 'user', content: 'x' }, result), /no result/],
    ['one id twice', messages([call, call], result, result), /twice/],
    [
      'arguments that are no object',
      messages([{ ...call, function: { name: 'f', arguments: 'x' } }], result),
      /no JSON/,
    ],
    ['a picture as text', messages([call], { ...result, content: 'A'.repeat(400) }), /base64/],
  ])('%s is refused', (_, change, fault) => {
    expect(faultOf('compatible', { ...good, ...change }, issued)).toMatch(fault)
  })
})
