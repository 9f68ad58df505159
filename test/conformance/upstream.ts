/** A foreign MCP server with what the conformance suite asks for and only such a server can give, one path a group. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
  type McpHttpHandler,
  type ServerContext,
} from '@modelcontextprotocol/server'

/** One red pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

export interface FixtureUpstream {
  url: string
  close(): Promise<void>
}

type Answers = Record<string, any> | undefined
type Run = (args: Record<string, any>, mcp: ServerContext, answers: Answers) => unknown

const said = (text: string) => ({ content: [{ type: 'text', text }] })
const ask = (message: string, properties: object, required: string[] = Object.keys(properties)) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
})
const sample = (text: string, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens },
})
const name = { name: { type: 'string' } }
const roots = { method: 'roots/list', params: {} }
const codec = createRequestStateCodec<{ round: number }>({ key: Buffer.alloc(32, 5) })

/** Asks until there are answers. */
const asking =
  (requests: object, done: (answers: Record<string, any>) => string): Run =>
  (_args, _mcp, answers) =>
    answers ? said(done(answers)) : inputRequired({ inputRequests: requests as never })

const capabilitiesOf = (mcp: ServerContext) =>
  ((mcp.mcpReq.envelope as Record<string, any> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as object

async function told(mcp: ServerContext, progress: number): Promise<void> {
  const progressToken = mcp.mcpReq._meta?.progressToken
  if (progressToken !== undefined)
    await mcp.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress, total: 100 },
    })
  await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Answers of this era come as values, of the older one in the middle of the call: one shape for both. */
const elicited = (answer: Record<string, any>) =>
  `action=${answer['action']}, content=${JSON.stringify(answer['content'] ?? {})}`

function testTools(changes: Changes): Record<string, Run> {
  return {
    embedded_resource: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
    multiple_content_types: () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: png, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
    tool_with_progress: async (_args, mcp) => {
      for (const progress of [0, 50, 100]) await told(mcp, progress)
      return said('done')
    },
    tool_with_logging: async (_args, mcp) => {
      for (const line of ['started', 'processing data', 'completed']) {
        await mcp.mcpReq.log?.('info', `Tool execution ${line}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      return said('logged')
    },
    sampling: ({ prompt }, _mcp, answers) =>
      answers
        ? said(`LLM response: ${JSON.stringify(answers['answer']?.content)}`)
        : inputRequired({ inputRequests: { answer: sample(prompt) } as never }),
    elicitation: ({ message }, _mcp, answers) =>
      answers
        ? said(`User response: ${elicited(answers['answer'])}`)
        : inputRequired({
            inputRequests: {
              answer: ask(message, {
                username: { type: 'string', description: "User's response" },
                email: { type: 'string', description: "User's email address" },
              }),
            } as never,
          }),
    elicitation_sep1034_defaults: asking(
      { answer: ask('Your details', defaults, []) },
      (answers) => `Elicitation completed: ${elicited(answers['answer'])}`,
    ),
    elicitation_sep1330_enums: asking(
      { answer: ask('Choose', enums, []) },
      (answers) => `Elicitation completed: ${elicited(answers['answer'])}`,
    ),
    missing_capability: (_args, mcp) => {
      if (!('sampling' in capabilitiesOf(mcp)))
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
      return said('sampling is there')
    },
    streaming_elicitation: asking({ answer: ask('Your name?', name) }, () => 'streamed'),
    logging_tool: async (_args, mcp) => {
      await mcp.mcpReq.log?.('info', 'logged').catch(() => {})
      return said('logged')
    },
    trigger_tool_change: () => (changes.tool(), said('changed')),
    trigger_prompt_change: () => (changes.prompt(), said('changed')),
    ...inputRequiredTools,
  }
}

const defaults = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
}

const titled = (first: string) => [
  { const: 'value1', title: `First ${first}` },
  { const: 'value2', title: `Second ${first}` },
  { const: 'value3', title: `Third ${first}` },
]
const enums = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
}

/** Rounds with a state that nobody else can have made. */
const withState =
  (requests: (round: number) => object | null, last: string): Run =>
  async (_args, mcp, answers) => {
    const state = answers ? mcp.mcpReq.requestState<{ round: number }>() : undefined
    const round = state?.round ?? 0
    const next = requests(round + 1)
    if (next === null) return said(last)
    const requestState = await codec.mint({ round: round + 1 }, mcp)
    return inputRequired({ inputRequests: next as never, requestState })
  }

const confirm = { confirm: ask('Please confirm', { ok: { type: 'boolean' } }) }
const inputRequiredTools: Record<string, Run> = {
  input_required_result_elicitation: asking(
    { user_name: ask('What is your name?', name) },
    (answers) => `Hello, ${answers['user_name']?.content?.name}!`,
  ),
  input_required_result_sampling: asking(
    { capital_question: sample('What is the capital of France?') },
    (answers) => JSON.stringify(answers['capital_question']?.content),
  ),
  input_required_result_list_roots: asking({ client_roots: roots }, (answers) =>
    JSON.stringify(answers['client_roots']?.roots),
  ),
  input_required_result_request_state: withState((round) => (round === 1 ? confirm : null), 'state-ok'),
  input_required_result_multiple_inputs: withState(
    (round) =>
      round === 1
        ? {
            user_name: ask('What is your name?', name),
            greeting: sample('Generate a greeting', 50),
            client_roots: roots,
          }
        : null,
    'all three are here',
  ),
  input_required_result_multi_round: withState(
    (round) =>
      [
        { step1: ask('Step 1: What is your name?', name) },
        { step2: ask('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
      ][round - 1] ?? null,
    'both steps are done',
  ),
  input_required_result_tampered_state: withState((round) => (round === 1 ? confirm : null), 'state-ok'),
  input_required_result_capabilities: (_args, mcp, answers) => {
    const declared = capabilitiesOf(mcp)
    const requests = {
      ...('sampling' in declared ? { sampled: sample('Say something') } : {}),
      ...('elicitation' in declared ? { asked: ask('Your name?', name) } : {}),
    }
    return answers || Object.keys(requests).length === 0
      ? said('asked for what the client can')
      : inputRequired({ inputRequests: requests as never })
  },
}

/** What the other groups hold, by path. */
const groups: Record<string, Record<string, Run>> = {
  protocol: {
    error_job: async () => {
      await new Promise((resolve) => setTimeout(resolve, 700))
      throw new ProtocolError(-32603, 'the job broke the protocol')
    },
  },
  confirm: {
    delete: ({ filename }, _mcp, answers) =>
      answers
        ? said(`deleted ${filename}`)
        : inputRequired({
            inputRequests: {
              confirm: ask(`Delete ${filename}?`, { confirm: { type: 'boolean' } }),
            } as never,
          }),
  },
  multi: {
    input: asking(
      {
        first: ask('First?', { value: { type: 'string' } }),
        second: ask('Second?', { value: { type: 'string' } }),
      },
      () => 'both answered',
    ),
  },
  test_tool: {
    with_task: async (_args, _mcp, answers) => {
      if (!answers) return inputRequired({ inputRequests: { user_name: ask('Who?', name) } as never })
      await new Promise((resolve) => setTimeout(resolve, 700))
      return said(`Hello, ${answers['user_name']?.content?.name}!`)
    },
  },
}

const schemas: Record<string, object> = {
  sampling: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  elicitation: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  delete: { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] },
}

interface Changes {
  tool(): void
  prompt(): void
}

/** Listens on loopback. */
export async function startFixtureUpstream(): Promise<FixtureUpstream> {
  const extra = { tools: 0, prompts: 0 }
  const handlers: Record<string, McpHttpHandler> = {}
  const changes: Changes = {
    tool: () => (extra.tools++, handlers['test']!.notify.toolsChanged()),
    prompt: () => (extra.prompts++, handlers['test']!.notify.promptsChanged()),
  }
  handlers['test'] = handlerOf(() => testServer(changes, extra))
  for (const [path, tools] of Object.entries(groups)) handlers[path] = handlerOf(() => toolServer(tools))
  const http = createServer((request, response) => {
    const handler = handlers[(request.url ?? '').slice(1)]
    if (handler) void serve(handler, request, response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
}

function handlerOf(make: () => Server): McpHttpHandler {
  return createMcpHandler(make, { legacy: 'reject', responseMode: 'auto' })
}

function toolServer(tools: Record<string, Run>, capabilities: object = {}): Server {
  const server = new Server(
    { name: 'fixture', version: '1' },
    {
      capabilities: { tools: { listChanged: true }, logging: {}, ...capabilities },
      requestState: { verify: codec.verify },
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: Object.keys(tools).map((tool) => ({
      name: tool,
      description: tool.replaceAll('_', ' '),
      inputSchema: (schemas[tool] ?? { type: 'object' }) as never,
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params }, mcp) => {
    const run = tools[params.name]
    if (!run) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`)
    return (await run(params.arguments ?? {}, mcp, mcp.mcpReq.inputResponses as Answers)) as never
  })
  return server
}

function testServer(changes: Changes, extra: { tools: number; prompts: number }): Server {
  const more = Object.fromEntries(
    Array.from({ length: extra.tools }, (_, i) => [`added_${i + 1}`, () => said('added')]),
  )
  const server = toolServer(
    { ...testTools(changes), ...more },
    { prompts: { listChanged: true }, resources: { subscribe: true }, completions: {} },
  )
  addResources(server)
  addPrompts(server, extra.prompts)
  server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['paris', 'park', 'party'].filter((value) => value.startsWith(params.argument.value))
    return { completion: { values, total: values.length, hasMore: false } }
  })
  return server
}

function addResources(server: Server): void {
  const contents: Record<string, object> = {
    'test://static-text': {
      mimeType: 'text/plain',
      text: 'This is the content of the static text resource.',
    },
    'test://static-binary': { mimeType: 'image/png', blob: png },
    'test://watched-resource': { mimeType: 'text/plain', text: 'watched' },
    'test://example-resource': { mimeType: 'text/plain', text: 'example' },
  }
  server.setRequestHandler('resources/list', () => ({
    resources: Object.entries(contents).map(([uri, content]) => ({
      uri,
      name: uri.slice('test://'.length),
      description: 'a resource',
      mimeType: (content as { mimeType: string }).mimeType,
    })),
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
    ],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id) {
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri, mimeType: 'application/json', text }] }
    }
    const content = contents[uri]
    if (!content) throw new ProtocolError(-32602, 'Resource not found', { uri })
    return { contents: [{ uri, ...content }] as never }
  })
}

function addPrompts(server: Server, added: number): void {
  const required = (...names: string[]) =>
    names.map((one) => ({ name: one, description: one, required: true }))
  const user = (...contents: object[]) => ({
    messages: contents.map((content) => ({ role: 'user', content })) as never,
  })
  const text = (words: string) => ({ type: 'text', text: words })
  server.setRequestHandler('prompts/list', () => ({
    prompts: [
      { name: 'simple_prompt', description: 'simple' },
      { name: 'prompt_with_arguments', description: 'two', arguments: required('arg1', 'arg2') },
      { name: 'prompt_with_embedded_resource', description: 'one', arguments: required('resourceUri') },
      { name: 'prompt_with_image', description: 'image' },
      { name: 'input_required_result_prompt', description: 'asks' },
      ...Array.from({ length: added }, (_, i) => ({ name: `added_${i + 1}`, description: 'added' })),
    ],
  }))
  server.setRequestHandler('prompts/get', ({ params }, mcp) => {
    const args = params.arguments ?? {}
    const image = { type: 'image', data: png, mimeType: 'image/png' }
    const resource = {
      uri: args['resourceUri'],
      mimeType: 'text/plain',
      text: 'Embedded resource content for testing.',
    }
    const prompts: Record<string, () => unknown> = {
      simple_prompt: () => user(text('This is a simple prompt for testing.')),
      prompt_with_arguments: () =>
        user(text(`Prompt with arguments: arg1='${args['arg1']}', arg2='${args['arg2']}'`)),
      prompt_with_embedded_resource: () =>
        user({ type: 'resource', resource }, text('Please process the embedded resource above.')),
      prompt_with_image: () => user(image, text('Please analyze the image above.')),
      input_required_result_prompt: () =>
        mcp.mcpReq.inputResponses
          ? user(text('with your context'))
          : inputRequired({
              inputRequests: {
                user_context: ask('What context should the prompt use?', { context: { type: 'string' } }),
              } as never,
            }),
    }
    const made = prompts[params.name]
    if (!made) throw new ProtocolError(-32602, `Unknown prompt: ${params.name}`)
    return made() as never
  })
}

async function serve(
  handler: McpHttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const answer = await handler.fetch(
    new Request(`http://127.0.0.1${request.url}`, {
      method: request.method!,
      headers: request.headers as Record<string, string>,
      signal: gone.signal,
      ...(body.length > 0 ? { body } : {}),
    }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.flushHeaders()
  if (!answer.body) return void response.end()
  Readable.fromWeb(answer.body as never)
    .on('error', () => response.destroy())
    .pipe(response)
}
