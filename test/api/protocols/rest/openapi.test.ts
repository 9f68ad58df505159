/** docs/openapi.json is printed from the routes and the platform actions, and is valid. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeActions } from '../../../../src/api/graphql/transport/actions.ts'
import { openApiOf } from '../../../../src/api/protocols/rest/openapi.ts'
import { routes } from '../../../../src/api/protocols/rest/handler.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { judgeRest } from '../../../support/rest-judge.ts'

const file = join(import.meta.dirname, '../../../../docs/openapi.json')
const actions = makeActions(() => {
  throw new Error('nothing runs here')
})

test('docs/openapi.json is the document of the routes; "npm run schema" writes it', async () => {
  const printed = `${JSON.stringify(openApiOf(routes, actions), null, 2)}\n`
  if (process.env['UPDATE']) await writeFile(file, printed)
  expect(await readFile(file, 'utf8')).toBe(printed)
})

test('the document is valid OpenAPI 3.1, and has every route and action', async () => {
  const document = JSON.parse(await readFile(file, 'utf8')) as { paths: Record<string, object> }
  const validator = new Validator()
  expect(await validator.validate(document)).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  expect(await new Validator().validate({ ...document, paths: { '/x': { get: 7 } } })).toMatchObject({
    valid: false,
  })
  const operations = Object.values(document.paths).flatMap(
    (one) => Object.values(one) as { operationId: string }[],
  )
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { operationId } of routes.filter((one) => one.operationId !== 'runAction'))
    expect(ids).toContain(operationId)
  for (const { name } of actions.list()) expect(document.paths).toHaveProperty([`/api/v1/actions/${name}`])
})

test('every body has a named schema with properties, and every parameter an example', async () => {
  const { paths, components } = JSON.parse(await readFile(file, 'utf8')) as {
    paths: Record<string, Record<string, Record<string, any>>>
    components: Record<'schemas' | 'responses', Record<string, any>>
  }
  const named = (schema: { $ref?: string }) => {
    const name = schema.$ref?.replace('#/components/schemas/', '')
    return name === undefined ? undefined : components.schemas[name]
  }
  const isTyped = (schema: any): boolean =>
    [schema.properties, schema.items, schema.anyOf].some((part) => part && Object.keys(part).length > 0)
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const where = `${method} ${path}`
      for (const parameter of operation['parameters'] ?? [])
        expect(parameter.example, `${where} ${parameter.name}`).toEqual(expect.any(String))
      for (const [status, response] of Object.entries<any>(operation['responses'])) {
        const { content } = response.$ref ? components.responses['Error'] : response
        if (status === '204') continue
        const schema = named(content['application/json'].schema)
        // What a tool returns is any JSON.
        if (schema !== components.schemas['ToolOutput'])
          expect(isTyped(schema ?? {}), `${where} ${status}`).toBe(true)
      }
    }
})

test(
  'every documented success is what the server answers, to the last field',
  { timeout: 180_000 },
  async () => {
    const judge = await judgeRest()
    const h = await openHarness()
    const fixtures = await makeFixtures(h)
    try {
      const send = async (method: string, path: string, body?: object, headers: object = {}) => {
        const response = await fetch(`${h.url}/api/v1/${path}`, {
          method,
          headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
          ...(body ? { body: JSON.stringify(body) } : {}),
        })
        const text = await response.text()
        if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
        return text.startsWith('{') ? (JSON.parse(text) as Record<string, any>) : {}
      }
      const act = (name: string, args: object = {}) => send('POST', `actions/${name}`, args)
      const word = objectSchema({ word: { type: 'string' } }, ['word'])
      const say = (content: string) => ({ messages: [{ role: 'user', content }] })

      await send('GET', 'openapi.json')
      const execute = { url: `${fixtures.upstream.url}/x`, headers: { a: 'b' } }
      const tool = await send('POST', 'tools', {
        name: 'x',
        execute,
        parameters: word,
        preset_parameters: {},
      })
      await send('GET', 'tools?limit=2')
      await send('GET', `tools/${tool['id']}`)
      await send('PATCH', `tools/${tool['id']}`, { description: 'X' })
      await send('POST', `tools/${tool['id']}/call`, { input: { word: 'a' } })
      const config = { http: { url: `${fixtures.upstream.url}/pay`, inputSchema: word } }
      const { tool: gated } = await h.mutate(
        'createTool',
        { name: 'pay', gate: { autoApprove: false }, config },
        'tool { id }',
      )
      const call = await send(
        'POST',
        `tools/${gated.id}/call`,
        { input: { word: 'a' } },
        { prefer: 'wait=0' },
      )
      await send('GET', `tools/${gated.id}/calls/${call['tool_call_id']}`)

      const rule = {
        from_step: 2,
        to_step: 3,
        tool_choice: 'required',
        active_tool_ids: [fixtures.tools.ask],
      }
      const agent = await send('POST', 'agents', {
        model: 'builtin/rehearsal',
        tool_ids: Object.values(fixtures.tools),
        tool_choice: 'auto',
        stop_conditions: [{ type: 'hasToolCall', tool_name: 'tell' }],
        step_rules: [{ step: 1, tool_choice: { type: 'tool', name: 'ask' } }, rule],
      })
      await send('GET', 'agents')
      await send('GET', `agents/${agent['id']}`)
      await send('PUT', `agents/${agent['id']}`, { temperature: 0.5, step_rules: [] })
      const generate = `agents/${agent['id']}/generate`
      const run = await send('POST', generate, say('call ask {"word":"w"}\nthen\nsay done'))
      const output = { tool_call_id: run['tool_calls'][0].tool_call_id, output: { a: 1 } }
      await send('GET', `${generate}/${run['id']}`)
      await send('POST', `${generate}/${run['id']}/tool-outputs`, { tool_outputs: [output] })
      await send('GET', `${generate}/${run['id']}`, undefined, { accept: 'text/event-stream' })
      await send('POST', generate, { ...say('slow 5ms\nsay streamed words'), stream: true })
      const policy = { statement: [{ effect: 'Allow', action: ['generations:Start'], resource: ['*'] }] }
      const { secret } = await h.mutate('createApiKey', { name: 'starts', policy }, 'secret')
      await send('POST', generate, say('say unseen'), { authorization: `Bearer ${secret}` })

      const asked = await act('start-generation', { agentId: agent['id'], prompt: 'call ask {"word":"w"}' })
      const { id } = asked['generation']
      const waiting = await h.until(id, ['REQUIRES_ACTION'])
      const [toolCall] = waiting['requiredAction'].toolCalls
      await act('generation', { id })
      await act('generations', { first: 5 })
      await act('tool-call', { id: toolCall.id })
      await act('list-tool-calls', { first: 5 })
      await act('submit-tool-outputs', {
        generationId: id,
        outputs: [{ toolCallId: toolCall.id, output: 1 }],
      })
      const other = await act('start-generation', { agentId: agent['id'], prompt: 'call ask {"word":"v"}' })
      await act('cancel-generation', { generationId: other['generation'].id })
      const { toolCall: second } = await act('call-tool', { toolId: gated.id, arguments: { word: 'b' } })
      const { nodes } = await act('approvals', { first: 5 })
      await act('approval', { id: nodes[0].id })
      await act('cancel-tool-call', { toolCallId: second.id })
      const { tool: made } = await act('create-tool', {
        name: 'y',
        config: { client: { inputSchema: word } },
      })
      await act('update-tool', { id: made.id, description: 'Y' })
      await act('get-tool', { id: made.id })
      await act('tools', { first: 9 })
      await act('delete-tool', { id: made.id })
      const { agent: helper } = await act('create-agent', { name: 'helper', toolIds: [] })
      await act('update-agent', { id: helper.id, instructions: 'Help.' })
      await act('agent', { id: helper.id })
      await act('agent', { id: 'agt_0123456789abcdefghijklmn' })
      await act('agents', { first: 9 })
      await act('delete-agent', { id: helper.id })
      await send('DELETE', `agents/${agent['id']}`)
      await send('DELETE', `tools/${tool['id']}`)

      const { faults, seen } = await judge.verdict()
      expect(faults).toEqual([])
      expect([...seen].toSorted()).toEqual(judge.documented.toSorted())
    } finally {
      judge.stop()
      await fixtures.close()
      await h.stop()
    }
  },
)
