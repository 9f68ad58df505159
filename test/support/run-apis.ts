/**
 * The requests of every API that starts runs, and answers what they wait for, as they are on the wire: one form for tests
 * that compare the APIs. Their official clients are in the tests of each.
 */
import { mutationText } from './ask.ts'
import { callRaw } from './bridge.ts'

/** An agent by its name and id, where the server is, and who asks; null: without a key. */
export interface Door {
  url: string
  key: string | null
  agent: { id: string; name: string }
}

/** A run in a thread that has an id of the client, so that every API can go on with it. */
export interface KnownRun {
  id: string
  externalId: string
}

/** The HTTP status, and the code of the error as the API names it; null for none. */
export interface Outcome {
  status: number
  code: string | null
}

export interface RunApi {
  /** Starts a run in a conversation of its own. */
  start(door: Door, prompt: string): Promise<Outcome>
  /** Gives an output for a call of the client. */
  answer?(door: Door, run: KnownRun, toolCallId: string, output: string): Promise<Outcome>
  /** Gives a verdict. */
  decide?(door: Door, run: KnownRun, approvalId: string, approve: boolean): Promise<Outcome>
}

let count = 0
const fresh = () => `fresh ${++count}`
const bearer = (key: string | null) => (key === null ? {} : { authorization: `Bearer ${key}` })
const segmentOf = (run: KnownRun) => `resp_${run.id.slice('gen_'.length)}_0`

/** Posts, and reads the response to its end: then the run has ended, or waits. */
async function post({ url, key }: Door, path: string, body: object, headers: object = {}) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(key), ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, any>,
  }
}
const authenticated = async (door: Door, path: string, body: object): Promise<Outcome> => {
  const got = await post(door, path, body)
  return { status: got.status, code: got.body['error']?.code ?? null }
}

async function graphql(door: Door, name: string, input: object, fields: string): Promise<Outcome> {
  const { status, body } = await post(door, '/graphql', {
    query: mutationText(name, fields),
    variables: { input },
  })
  const given = body['data']?.[name]
  const code = body['errors']?.[0].extensions.code ?? given?.code ?? given?.outcomes?.[0].error?.code ?? null
  return { status, code }
}
async function a2a(door: Door, content: object, taskId = ''): Promise<Outcome> {
  const message = { messageId: fresh(), role: 'ROLE_USER', parts: [content], taskId }
  const request = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
  const { status, body } = await post(door, `/a2a/${door.agent.name}`, request, { 'a2a-version': '1.0' })
  return { status, code: body['error']?.data[0].reason ?? null }
}

const responses = (door: Door, body: object) =>
  authenticated(door, '/v1/responses', { model: door.agent.name, ...body })
const responsesOn = (door: Door, run: KnownRun, item: object) =>
  responses(door, { previous_response_id: segmentOf(run), input: [item] })

const completions = (door: Door, messages: object[]) =>
  authenticated(door, '/v1/chat/completions', { model: door.agent.name, messages })
const said = (content: string) => ({ role: 'user', content })

const chat = (door: Door, id: string, messages: object[]) =>
  authenticated(door, `/api/chat/${door.agent.name}`, { id, messages, trigger: 'submit-message' })
const chatUser = (text: string) => ({ id: fresh(), role: 'user', parts: [{ type: 'text', text }] })
const chatOn = (door: Door, run: KnownRun, tool: object) =>
  chat(door, run.externalId, [
    chatUser('before'),
    {
      id: `msg_${run.id.slice('gen_'.length)}`,
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'tool-any', input: {}, ...tool }],
    },
  ])

const agUiAt =
  (pathOf: (agent: string) => string) =>
  (door: Door, threadId: string, messages: object[], resume: object[] = []) =>
    authenticated(door, pathOf(door.agent.name), {
      threadId,
      runId: fresh(),
      messages,
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
      resume,
    })
const agUi = agUiAt((agent) => `/ag-ui/${agent}`)
const copilotKit = agUiAt((agent) => `/copilotkit/agent/${agent}/run`)
const agUiUser = (content: string) => ({ id: fresh(), role: 'user', content })

const overAgUi = (send: typeof agUi): RunApi => ({
  start: (door, prompt) => send(door, fresh(), [agUiUser(prompt)]),
  answer: (door, run, toolCallId, content) =>
    send(door, run.externalId, [agUiUser('before'), { id: fresh(), role: 'tool', toolCallId, content }]),
  decide: (door, run, interruptId, approved) =>
    send(
      door,
      run.externalId,
      [agUiUser('before')],
      [{ interruptId, status: 'resolved', payload: { approved } }],
    ),
})

type Name = 'graphql' | 'rest' | 'responses' | 'completions' | 'chat' | 'agUi' | 'copilotKit' | 'a2a' | 'mcp'

export const runApis: Record<Name, RunApi> = {
  graphql: {
    start: (door, prompt) =>
      graphql(door, 'startGeneration', { agentId: door.agent.id, prompt }, 'generation { id }'),
    answer: (door, { id }, toolCallId, output) =>
      graphql(
        door,
        'submitToolOutputs',
        { generationId: id, outputs: [{ toolCallId, output }] },
        'outcomes { error { code } }',
      ),
    decide: (door, _run, approvalId, approve) =>
      graphql(
        door,
        'decideApproval',
        { approvalId, verdict: approve ? 'APPROVE' : 'REJECT' },
        'approval { id }',
      ),
  },
  rest: {
    start: (door, content) =>
      authenticated(door, `/api/v1/agents/${door.agent.id}/generate`, {
        messages: [{ role: 'user', content }],
      }),
    answer: (door, { id }, tool_call_id, output) =>
      authenticated(door, `/api/v1/agents/${door.agent.id}/generate/${id}/tool-outputs`, {
        tool_outputs: [{ tool_call_id, output }],
      }),
  },
  responses: {
    start: (door, input) => responses(door, { input }),
    answer: (door, run, call_id, output) =>
      responsesOn(door, run, { type: 'function_call_output', call_id, output }),
    decide: (door, run, approval_request_id, approve) =>
      responsesOn(door, run, { type: 'mcp_approval_response', approval_request_id, approve }),
  },
  completions: {
    start: (door, prompt) => completions(door, [said(prompt)]),
    answer: (door, _run, tool_call_id, content) =>
      completions(door, [said('before'), { role: 'tool', tool_call_id, content }]),
  },
  chat: {
    start: (door, prompt) => chat(door, fresh(), [chatUser(prompt)]),
    answer: (door, run, toolCallId, output) =>
      chatOn(door, run, { toolCallId, state: 'output-available', output }),
    decide: (door, run, id, approved) =>
      chatOn(door, run, { toolCallId: 'any', state: 'approval-responded', approval: { id, approved } }),
  },
  agUi: overAgUi(agUi),
  copilotKit: overAgUi(copilotKit),
  a2a: {
    start: (door, text) => a2a(door, { text }),
    answer: (door, { id }, toolCallId, output) => a2a(door, { data: { toolCallId, output } }, id),
    decide: (door, { id }, approvalId, approve) =>
      a2a(door, { data: { approvalId, verdict: approve ? 'APPROVE' : 'REJECT' } }, id),
  },
  mcp: {
    async start({ url, key, agent }, message) {
      const args = { message }
      const { status, body } = await callRaw(
        `${url}/mcp/${agent.id}`,
        key ?? '',
        agent.name,
        args,
        bearer(key) as {},
      )
      return {
        status,
        code: body['error']?.data?.type ?? body['result']?.structuredContent?.error?.code ?? null,
      }
    },
  },
}
