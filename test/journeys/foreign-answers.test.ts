/**
 * Answers of foreign MCP servers, as people have reported them: what is final is final, whatever stands beside it; what proves
 * nothing is UNKNOWN; nothing is sent twice.
 */
import type { ServerResponse } from 'node:http'
import { isSpecType } from '@modelcontextprotocol/client'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { completeArgument, getPrompt, readResource } from '../../src/domain/upstream/index.ts'
import { loadRows } from '../../src/domain/upstream/state.ts'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { respond, startScriptedMcp, type Scripted, type ScriptedMcp } from '../support/scripted-mcp.ts'
import { forFile } from '../support/for-file.ts'

type Answering = (response: ServerResponse, id: unknown) => void

const servers: ScriptedMcp[] = []
/** How the server answers now, by era. */
let answer: Answering
const others: Record<string, Scripted> = {}
const modernOthers: Record<string, Scripted> = {
  'server/discover': (response, id) =>
    respond(response, 200, {
      jsonrpc: '2.0',
      id,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: [], logging: null },
        instructions: null,
        _meta: null,
      },
    }),
}
const toolOf: Record<string, string> = {}
const listing = { name: 'pay', inputSchema: { type: 'object' } }
const outputSchema = {
  type: 'object',
  properties: { at: { type: 'string', format: 'date-time' }, note: { type: 'string' } },
  required: ['at'],
  additionalProperties: false,
}

const server = async (make: ReturnType<typeof startScriptedMcp>) => {
  const made = await make
  servers.push(made)
  return made.url
}
const mcpTool = async (name: string, url: string, more = {}) => {
  const made = await h.mutate('createTool', { name, config: { mcp: { url, ...more } } }, 'tool { id }')
  return made['tool'].id as string
}
const refresh = async (toolId: string) => {
  const fields = 'status error { code message } notes serverName tools { name } promptCount resourceCount'
  const selection = `tool { ... on McpTool { upstream { ${fields} } } }`
  return (await h.mutate('refreshUpstream', { toolId }, selection))['tool'].upstream
}

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
const answered: Parameters<typeof startScriptedMcp>[0] = (response, id) => answer(response, id)
toolOf['legacy'] = await mcpTool('legacy', await server(startScriptedMcp(answered)))
toolOf['modern'] = await mcpTool('modern', await server(startScriptedMcp(answered, modernOthers)))
const typed: Record<string, Scripted> = {
  'tools/list': (response, id) =>
    respond(response, 200, { jsonrpc: '2.0', id, result: { tools: [{ ...listing, outputSchema }] } }),
}
const typedTool: string = await mcpTool('typed', await server(startScriptedMcp(answered, typed)))
const relay = { resources: ['*'], prompts: ['*'] }
const lists: string = await mcpTool('lists', await server(startScriptedMcp(answered, others)), { relay })
const projectId: string = (await loadRows(h.app.services.db, [lists]))[0]!.projectId
afterAll(async () => {
  await Promise.all(servers.map((one) => one.close()))
})
beforeEach(() => {
  for (const name of Object.keys(others)) delete others[name]
})

/** Answers 200 with this text of this type; ID stands for the id of the request. */
const says =
  (text: string, type: string | null = 'application/json', status = 200): Answering =>
  (response, id) =>
    response
      .writeHead(status, type === null ? {} : { 'content-type': type })
      .end(text.replaceAll('ID', JSON.stringify(id)))
const results = (result: unknown, beside = '') =>
  says(`{"jsonrpc":"2.0","id":ID,"result":${JSON.stringify(result)}${beside}}`)
/** The first request gets this answer, every later one is refused. */
const onlyFirst = (first: Answering): Answering => {
  let asked = 0
  return (response, id) =>
    (asked++ === 0 ? first : errors({ code: -32602, message: 'no such cursor' }))(response, id)
}
const errors = (error: unknown, id = 'ID') =>
  says(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`)
const paid = { type: 'text', text: 'paid' }
const final = { content: [paid] }
const asText = JSON.stringify({ jsonrpc: '2.0', id: 'ID', result: final }).replace('"ID"', 'ID')
const png = 'iVBORw0KGgo='

const shown = (...texts: string[]) => ({
  status: 'SUCCEEDED',
  content: texts.map((text) => expect.objectContaining({ type: 'text', text })),
})
const unknown = { status: 'UNKNOWN' }
const json = (value: object) => JSON.stringify(value)

describe.each(['legacy', 'modern'])('a %s server', (era) => {
  test.each<[string, Answering, object]>([
    ['error null beside a result', results(final, ',"error":null'), shown('paid')],
    ['members that nobody knows', results(final, ',"took":3,"server":null'), shown('paid')],
    ['no jsonrpc', says(`{"id":ID,"result":${json(final)}}`), shown('paid')],
    ['its id as text', says(asText.replace('ID', '"ID"')), shown('paid')],
    ['_meta null', results({ ...final, _meta: null }), shown('paid')],
    ['isError null', results({ ...final, isError: null }), shown('paid')],
    ['structuredContent null', results({ ...final, structuredContent: null }), shown('paid')],
    ['resultType null', results({ ...final, resultType: null }), shown('paid')],
    ['annotations null', results({ content: [{ ...paid, annotations: null }] }), shown('paid')],
    [
      'annotations out of range',
      results({ content: [{ ...paid, annotations: { priority: 7 } }] }),
      shown('paid'),
    ],
    [
      'an audience that nobody knows',
      results({ content: [{ ...paid, annotations: { audience: ['system'] } }] }),
      shown('paid'),
    ],
    ['content null', results({ content: null }), { status: 'SUCCEEDED', content: [] }],
    ['result null', results(null), { status: 'SUCCEEDED', content: [] }],
    ['content that is one block', results({ content: paid }), shown('paid')],
    ['content that is a plain object', results({ content: { sum: 3 } }), shown('{"sum":3}')],
    ['content that is text', results({ content: 'paid' }), shown('paid')],
    ['a list of texts', results({ content: ['one', 'two'] }), shown('one', 'two')],
    ['a plain object for a result', results({ sum: 3, note: null }), shown('{"sum":3}')],
    ['text for a result', results('paid'), shown('paid')],
    ['a list for a result', results([paid]), shown('paid')],
    ['a block without type', results({ content: [{ text: 'paid' }] }), shown('paid')],
    [
      'an unknown block',
      results({ content: [{ type: 'video', url: 'x' }, paid] }),
      shown('{"type":"video","url":"x"}', 'paid'),
    ],
    [
      'a resource without uri',
      results({ content: [{ type: 'resource', resource: { text: 'hi' } }] }),
      shown('{"type":"resource","resource":{"text":"hi"}}'),
    ],
    [
      'a resource with nulls',
      results({
        content: [{ type: 'resource', resource: { uri: 'a:b', text: 'hi', blob: null, mimeType: null } }],
      }),
      { status: 'SUCCEEDED', content: [{ type: 'resource', resource: { uri: 'a:b', text: 'hi' } }] },
    ],
    [
      'a link without name',
      results({ content: [{ type: 'resource_link', uri: 'a:b', title: null }] }),
      { status: 'SUCCEEDED', content: [{ type: 'resource_link', uri: 'a:b', name: 'a:b' }] },
    ],
    [
      'a picture with null annotations',
      results({ content: [{ type: 'image', data: png, mimeType: 'image/png', annotations: null }] }),
      { status: 'SUCCEEDED', content: [{ type: 'image', data: png, mimeType: 'image/png' }] },
    ],
    [
      'a picture that is no base64',
      results({ content: [{ type: 'image', data: '#', mimeType: 'image/png' }] }),
      shown('{"type":"image","data":"#","mimeType":"image/png"}'),
    ],
    [
      'text that is null',
      results({ content: [{ type: 'text', text: null }, paid] }),
      shown('{"type":"text","text":null}', 'paid'),
    ],
    [
      'an error without a code',
      errors({ message: 'no money' }),
      { status: 'ERRORED', errorCode: 'upstream_error' },
    ],
    [
      'an error that is text',
      errors('no money'),
      { status: 'ERRORED', structuredContent: { error: { message: 'no money' } } },
    ],
    [
      'an error with data null beside result null',
      says('{"id":ID,"result":null,"error":{"code":-1,"message":"no","data":null}}'),
      { status: 'ERRORED' },
    ],
    [
      'an error without id',
      errors({ code: -32000, message: 'bad' }, 'null'),
      { status: 'ERRORED', errorCode: 'upstream_error' },
    ],
    ['a list with one answer', says(`[${asText}]`), shown('paid')],
    ['text/plain', says(asText, 'text/plain'), shown('paid')],
    ['no content type', says(asText, null), shown('paid')],
    ['a content type with a charset', says(asText, 'application/json;charset=utf-8'), shown('paid')],
    ['a content type of HTML', says(asText, 'text/html'), shown('paid')],
    ['JSON called a stream', says(asText, 'text/event-stream'), shown('paid')],
    ['a stream called JSON', says(`event: message\ndata: ${asText}\n\n`), shown('paid')],
    [
      'a stream with nulls',
      says(`data: ${asText.replace('}]}', '}],"_meta":null},"error":null')}\n\n`, 'text/event-stream'),
      shown('paid'),
    ],
    ['a stream without its last line', says(`id: 1\r\ndata: ${asText}`, 'text/event-stream'), shown('paid')],
    ['a result with an error status', says(asText, 'application/json', 500), shown('paid')],
    ['a result that is only accepted', says(asText, 'application/json', 202), shown('paid')],
    ['events that are only accepted', says(`data: ${asText}\n\n`, 'text/event-stream', 202), shown('paid')],
    [
      'an event of another name',
      says(`event: result\nid: 1\ndata: ${asText}\n\n`, 'text/event-stream'),
      shown('paid'),
    ],
    [
      'what Python makes of numbers that are none',
      says(
        asText
          .replace('[{', '["NaN \\" NaN",{')
          .replace('}]', '}],"structuredContent":{"a":[NaN,-Infinity]}'),
      ),
      { ...shown('NaN " NaN', 'paid'), structuredContent: { a: ['NaN', '-Infinity'] } },
    ],
    ['isError 1', results({ ...final, isError: 1 }), { status: 'ERRORED', content: [paid] }],
    ['another id', says(asText.replace('ID', '99999')), unknown],
    ['no id', says(`{"jsonrpc":"2.0","result":${json(final)}}`), unknown],
    ['no result', says('{"jsonrpc":"2.0","id":ID}'), unknown],
    ['error null alone', says('{"jsonrpc":"2.0","id":ID,"error":null}'), unknown],
    ['nothing', says(''), unknown],
    ['a page', says('<html>Sign in</html>', 'text/html'), unknown],
    ['a part of a message', says(asText.slice(0, -3)), unknown],
    ['an empty stream', says(': nothing\n\n', 'text/event-stream'), unknown],
    [
      'a stream with another id',
      says(`data: ${asText.replace('ID', '99999')}\n\n`, 'text/event-stream'),
      unknown,
    ],
  ])('answers with %s', async (_name, answering, outcome) => {
    answer = answering
    expect(await gate.call(toolOf[era]!, {}, { action: 'pay' })).toMatchObject(outcome)
  })
})

describe('a call that ran, whose result cannot be used', () => {
  const ran = (code: string, output: unknown) => ({
    status: 'ERRORED',
    errorCode: code,
    structuredContent: {
      error: { message: expect.stringMatching(/The call ran .* must not be repeated/), output },
    },
  })
  const violation = (output: unknown) => ran('output_schema_violation', output)

  test.each<[string, object, object]>([
    ['a naive time, which format only annotates', { at: '2026-11-27 10:00' }, { status: 'SUCCEEDED' }],
    ['null for what is optional', { at: 'now', note: null }, violation('paid')],
    ['a property that nobody knows', { at: 'now', more: 1 }, violation('paid')],
    ['a property missing', {}, violation('paid')],
  ])('structured content with %s', async (_name, structuredContent, outcome) => {
    answer = results({ ...final, structuredContent })
    expect(await gate.call(typedTool, {}, { action: 'pay' })).toMatchObject(outcome)
  })

  test('no structured content: the words are for people, models and callers alike', async () => {
    answer = results(final)
    const called = await gate.call(typedTool, {}, { action: 'pay' })
    expect(called).toMatchObject(violation('paid'))
    expect(called['content'][0].text).toContain('must not be repeated')
  })

  test('an http tool says so, too', async () => {
    const config = { http: { url: `${fixtures.upstream.url}/typed`, inputSchema: { type: 'object' } } }
    const { tool } = await h.mutate('createTool', { name: 'typed_http', config, outputSchema }, 'tool { id }')
    expect(await gate.call(tool.id, {})).toMatchObject(violation('{"saw":"/typed"}'))
  })

  test('a format asserts in draft-07', async () => {
    const old = { ...outputSchema, $schema: 'http://json-schema.org/draft-07/schema#' }
    others['tools/list'] = results({ tools: [{ ...listing, outputSchema: old }] })
    await refresh(lists)
    answer = results({ ...final, structuredContent: { at: '2026-11-27 10:00' } })
    expect(await gate.call(lists, {}, { action: 'pay' })).toMatchObject(violation('paid'))
  })

  test.each([
    ['JSON', 'application/json', ''],
    ['a stream', 'text/event-stream', 'data: '],
  ])('a result that is too large, as %s', async (_name, type, before) => {
    const much = 'x'.repeat(h.app.services.limits.maxResponseBytes + 1)
    answer = says(`${before}${asText.replace('paid', `paid ${much}`)}\n\n`, type)
    const start = expect.stringMatching(/^paid x.*bytes in total/s)
    expect(await gate.call(toolOf['legacy']!, {}, { action: 'pay' })).toMatchObject(
      ran('response_too_large', start),
    )
    // More than is read at all: its beginning shows what it is.
    answer = says(
      `${before}{"result":${json(final).replace('paid', `paid ${much.repeat(5)}`)},"id":ID}\n\n`,
      type,
    )
    const head = expect.stringContaining('paid x')
    expect(await gate.call(toolOf['legacy']!, {}, { action: 'pay' })).toMatchObject(
      ran('response_too_large', head),
    )
    answer = says(`${before}{"id":"77","result":${json(final).replace('paid', much.repeat(5))}}\n\n`, type)
    expect(await gate.call(toolOf['legacy']!, {}, { action: 'pay' })).toMatchObject(unknown)
  })
})

describe('a list', () => {
  test.each<[string, Answering, object]>([
    [
      'with null members',
      results({
        tools: [
          {
            ...listing,
            title: null,
            description: null,
            annotations: null,
            outputSchema: null,
            _meta: null,
            icons: null,
          },
        ],
        nextCursor: null,
        _meta: null,
      }),
      { tools: [{ name: 'pay' }] },
    ],
    [
      'with members that nobody knows',
      results({ tools: [{ ...listing, cost: 3 }], total: 1 }, ',"error":null'),
      { tools: [{ name: 'pay' }] },
    ],
    [
      'with a cursor that is empty, of a server that refuses it',
      onlyFirst(results({ tools: [listing], nextCursor: '' })),
      { tools: [{ name: 'pay' }], notes: [] },
    ],
    ['with an entry that is null', results({ tools: [null, listing] }), { tools: [{ name: 'pay' }] }],
    ['that is null', results({ tools: null }), { tools: [] }],
    [
      'as text/plain',
      says(`{"id":ID,"result":${json({ tools: [listing] })}}`, 'text/plain'),
      { tools: [{ name: 'pay' }] },
    ],
  ])('%s', async (_name, answering, expected) => {
    others['tools/list'] = answering
    expect(await refresh(lists)).toMatchObject({ status: 'CONNECTED', error: null, ...expected })
  })

  test('of prompts or resources that is refused hides no tools, and is noted', async () => {
    others['initialize'] = initializes({ capabilities: { tools: {}, prompts: {}, resources: {} } })
    others['prompts/list'] = results({ prompts: [{ name: 'greet', description: null, arguments: null }] })
    others['resources/list'] = results({
      resources: [{ uri: 'a:b', name: null, mimeType: null, size: null }],
    })
    others['resources/templates/list'] = results({ resourceTemplates: null })
    await anew(lists)
    expect(await refresh(lists)).toMatchObject({ status: 'CONNECTED', promptCount: 1, resourceCount: 1 })
    others['prompts/list'] = errors({ code: -32603, message: 'broken' })
    expect(await refresh(lists)).toMatchObject({
      status: 'CONNECTED',
      promptCount: 1,
      tools: [{ name: 'pay' }],
      notes: [expect.stringContaining('broken')],
    })
  })
})

describe('a prompt or resource', () => {
  test.each<[string, object, object]>([
    [
      'content as text',
      { messages: [{ role: 'user', content: 'Hello' }], description: null },
      { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] },
    ],
    [
      'a list of blocks',
      { messages: [{ role: 'system', content: [paid, { ...paid, annotations: null }] }] },
      {
        messages: [
          { role: 'user', content: paid },
          { role: 'user', content: paid },
        ],
      },
    ],
    [
      'messages that are one',
      { messages: { role: 'assistant', content: paid } },
      { messages: [{ role: 'assistant', content: paid }] },
    ],
  ])('prompts/get with %s', async (_name, result, expected) => {
    others['prompts/get'] = results(result)
    const read = await getPrompt(h.app.services, { ...request(), name: 'greet' })
    expect(read).toEqual({ result: expected })
    expect(isSpecType.GetPromptResult((read as { result: object }).result)).toBe(true)
  })

  test.each<[string, unknown, object]>([
    ['no uri', { contents: [{ text: 'hi', mimeType: null }] }, { contents: [{ uri: 'a:b', text: 'hi' }] }],
    [
      'contents that are one',
      { contents: { uri: 'a:c', blob: 'aGk=' }, _meta: null },
      { contents: [{ uri: 'a:c', blob: 'aGk=' }] },
    ],
    ['contents that are text', { contents: ['hi'] }, { contents: [{ uri: 'a:b', text: 'hi' }] }],
    [
      'text that is an object',
      { contents: [{ uri: 'a:b', text: { n: 1 } }] },
      { contents: [{ uri: 'a:b', text: '{"uri":"a:b","text":{"n":1}}' }] },
    ],
  ])('resources/read with %s', async (_name, result, expected) => {
    others['resources/read'] = results(result)
    const read = await readResource(h.app.services, { ...request(), uri: 'a:b' })
    expect(read).toEqual({ result: expected })
    expect(isSpecType.ReadResourceResult((read as { result: object }).result)).toBe(true)
  })

  test('completion/complete with nulls', async () => {
    others['completion/complete'] = results({
      completion: { values: ['a', null, 3], total: null, hasMore: null },
    })
    const params = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } }
    expect(await completeArgument(h.app.services, { ...request(), params })).toEqual({
      result: { completion: { values: ['a', '3'] } },
    })
  })

  const request = () => ({ id: lists, projectId, timeoutMs: 10_000 })
})

const initializes =
  (more: object): Answering =>
  (response, id) => {
    const result = { protocolVersion: '2025-06-18', ...more }
    respond(response, 200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': 's' })
  }
/** Makes the next request open a new connection: the one there is seems to be lost. */
const anew = async (toolId: string) => {
  const before = answer
  answer = says('', null, 410)
  await gate.call(toolId, {}, { action: 'pay' })
  answer = before
}

describe('a server that', () => {
  test.each<[string, object, object]>([
    ['names no capabilities', { serverInfo: { name: 's', version: '1' } }, { serverName: 's' }],
    ['has null for its capabilities', { capabilities: null, serverInfo: null }, { serverName: null }],
    ['has a list for its capabilities', { capabilities: [] }, {}],
    ['has a list for a capability', { capabilities: { tools: [] }, serverInfo: {} }, {}],
    ['has true for a capability', { capabilities: { tools: true, logging: null, experimental: [] } }, {}],
    [
      'has nulls in a capability',
      { capabilities: { tools: { listChanged: null } }, serverInfo: { name: 's' } },
      { serverName: 's' },
    ],
    [
      'names no version',
      { protocolVersion: null, capabilities: { tools: {} }, instructions: null, _meta: null },
      {},
    ],
  ])('%s is connected with its tools', async (_name, told, expected) => {
    others['initialize'] = initializes(told)
    const url = await server(startScriptedMcp(() => {}, others))
    const found = await refresh(await mcpTool(`told_${servers.length}`, url))
    expect(found).toMatchObject({ status: 'CONNECTED', error: null, tools: [{ name: 'pay' }], ...expected })
  })
})

test('a server that accepts requests and answers over its stream, as the SDK for Ruby did', async () => {
  let stream: ServerResponse | undefined
  const messageOf = (id: unknown, result: object) => json({ jsonrpc: '2.0', id, result })
  const receipt: Answering = (response, id) => {
    if (!stream) return says(asText)(response, id)
    says('{"accepted":true}')(response, id)
    stream.write(`data: ${messageOf(id, final)}\n\n`)
  }
  const url = await server(
    startScriptedMcp(receipt, {
      GET: (response) => {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
        stream.write(': hello\n\n')
      },
      'tools/list': (response, id) => {
        if (!stream) return false
        says('{"accepted":true}')(response, id)
        return stream.write(`data: ${messageOf(id, { tools: [listing] })}\n\n`)
      },
    }),
  )
  const toolId = await mcpTool('ruby', url)
  expect(await refresh(toolId)).toMatchObject({ status: 'CONNECTED', tools: [{ name: 'pay' }] })
  await expect.poll(() => stream !== undefined).toBe(true)
  expect(await gate.call(toolId, {}, { action: 'pay' })).toMatchObject(shown('paid'))
  expect(await refresh(toolId)).toMatchObject({ status: 'CONNECTED', tools: [{ name: 'pay' }] })
})
