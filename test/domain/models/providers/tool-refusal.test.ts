import { expect, test } from 'vitest'
import { toModelError, toolRefusalOf } from '../../../../src/domain/models/providers/model-error.ts'
import { APICallError } from '@ai-sdk/provider'

const sent = ['bash', 'get_me', 'schema', 'json_edit']
const named = (...texts: string[]) => toolRefusalOf(texts, sent)?.names ?? null

test.each([
  ['OpenAI', "Invalid schema for function 'get_me': In context=(), object schema missing properties."],
  ['DeepSeek', `Invalid schema for function 'get_me': schema must be a JSON Schema of 'type: "object"'`],
  ['OpenAI, a place', "Invalid 'tools[1].function.name': string too long. Expected a string"],
  ['OpenAI Responses, a place', "Invalid 'tools[1].name': string does not match pattern"],
  [
    'Anthropic',
    'tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12',
  ],
  ['Anthropic, a name', 'tools.1.custom.name: String should have at most 128 characters'],
  [
    'Gemini',
    '* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties: should be non-empty',
  ],
  ['Gemini, JSON', `Unknown name "const" at 'tools[0].function_declarations[1].parameters.properties[8]'`],
  [
    'Vertex',
    "Unable to submit request because `get_me` functionDeclaration `parameters.a` schema didn't specify",
  ],
  [
    'Vertex, bare',
    'Unable to submit request because get_me functionDeclaration parameters.a schema specified',
  ],
  ['Groq', 'invalid JSON schema for tool get_me, tools[1].function.parameters: `/properties/a`: must be'],
  ['vLLM', "[{'type': 'missing', 'loc': ('body', 'tools', 1, 'function', 'name'), 'msg': 'Field required'}]"],
  ['Mistral', '{"detail":[{"loc":["body","tools",1,"function","name"],"msg":"field required"}]}'],
  ['Bedrock', 'The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of: object.'],
])('%s names the tool that it refuses', (_who, text) => {
  expect(named(text)).toEqual(['get_me'])
})

test('every place of a message counts, each once', () => {
  const line = (place: number) =>
    `* GenerateContentRequest.tools[0].function_declarations[${place}].parameters.required[0]: property is not defined`
  expect(named([1, 3, 1].map(line).join('\n'))).toEqual(['get_me', 'json_edit'])
})

test.each([
  'Invalid request content: Invalid function schema.',
  "Invalid tool schema: {'type': 'object', 'properties': {'bash': {'type': 'string'}}}",
  'Failed to initialize samplers: failed to parse grammar',
  'The provided JSON schema contains features not supported by xgrammar.',
  'GenerateContentRequest.contents[33].parts[0].data: required oneof field must be set',
  "An assistant message with 'tool_calls' must be followed by tool messages: messages.[3].role",
  "Invalid 'tools[9].parameters': there is no such tool",
  "Invalid schema for function 'nobody': object schema missing properties.",
  'tools: Tool names must be unique.',
])('a refusal that names none of the tools: %s', (text) => {
  expect(named(text)).toBeNull()
})

test('of several names only the first counts, for the rest may quote the schema', () => {
  expect(named("Invalid schema for function 'bash': a default says: see function 'get_me'")).toEqual(['bash'])
})

test('a later text is read only when the earlier ones say nothing', () => {
  expect(named('tools[0].parameters', "Invalid schema for function 'get_me'")).toEqual(['bash'])
  expect(named('', 'Provider returned error', '{"raw":"tools.3.custom.name: no"}')).toEqual(['json_edit'])
})

test('limits are read with what they are about', () => {
  const limits = (text: string) => toolRefusalOf([text], sent)
  expect(
    limits(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 217 instead.",
    ),
  ).toEqual({ names: [], mostTools: 128, longestDescription: null })
  expect(limits('You may not include more than 128 tools in your request.')).toMatchObject({ mostTools: 128 })
  expect(
    limits(
      "Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 4394 instead.",
    ),
  ).toEqual({ names: ['json_edit'], mostTools: null, longestDescription: 1024 })
  expect(
    limits("Invalid 'tools[3].function.name': string too long. Expected a string with maximum length 64"),
  ).toEqual({ names: ['json_edit'], mostTools: null, longestDescription: null })
})

test.each([
  [400, true],
  [422, true],
  [404, false],
  [401, false],
  [429, false],
  [503, false],
])('a response with status %i: is its text read for tools? %s', (statusCode, isRead) => {
  const message = "Invalid schema for function 'bash'"
  const error = new APICallError({
    message,
    url: 'http://127.0.0.1/',
    requestBodyValues: {},
    statusCode,
    responseBody: JSON.stringify({ error: { message } }),
  })
  expect(toModelError(error, (text) => text, sent).toolRefusal !== null).toBe(isRead)
})

test('nothing is read when no tool was sent', () => {
  expect(toolRefusalOf(['tools[0].parameters'], [])).toBeNull()
})
