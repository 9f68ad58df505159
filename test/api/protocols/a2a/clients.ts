/** The official client of A2A, and short forms of what it sends and gets. */
import { randomUUID } from 'node:crypto'
import {
  Role,
  taskStateToJSON,
  type Message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '@a2a-js/sdk'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client'

const transports = { JSONRPC: JsonRpcTransportFactory, 'HTTP+JSON': RestTransportFactory }

/** Opens the client of an agent by its base URL, as everybody does: the card says where the agent is. */
export async function openClient(
  url: string,
  agent: string,
  key: string,
  fetchImpl: typeof fetch = fetch,
  binding: keyof typeof transports = 'JSONRPC',
): Promise<Client> {
  const withKey: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${key}`)
    return fetchImpl(input, { ...init, headers })
  }
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new transports[binding]({ fetchImpl: withKey })],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: withKey }),
  })
  return new ClientFactory(options).createFromUrl(`${url}/a2a/${encodeURIComponent(agent)}/`)
}

export const text = (value: string): Part => part({ $case: 'text', value })
export const data = (value: unknown): Part => part({ $case: 'data', value })
export const file = (value: string): Part => part({ $case: 'url', value })

function part(content: Part['content']): Part {
  return { content, metadata: undefined, filename: '', mediaType: '' }
}

/** A request to send these parts; `to` is the task or context that they go on with. */
export function message(
  parts: string | Part[],
  to: { taskId?: string; contextId?: string; messageId?: string } = {},
  configuration: Partial<SendMessageRequest['configuration']> = {},
): SendMessageRequest {
  const made: Message = {
    messageId: to.messageId ?? randomUUID(),
    contextId: to.contextId ?? '',
    taskId: to.taskId ?? '',
    role: Role.ROLE_USER,
    parts: typeof parts === 'string' ? [text(parts)] : parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
  return {
    tenant: '',
    message: made,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  }
}

/** Sends a message and expects a task. */
export async function send(client: Client, request: SendMessageRequest): Promise<Task> {
  const result = await client.sendMessage(request)
  if (!('status' in result)) throw new Error('A message, and no task, was the answer.')
  return result
}

export const ofTask = (id: string) => ({ tenant: '', id, historyLength: undefined })

export function stateOf({ status }: { status: TaskStatus | undefined }): string {
  return taskStateToJSON(status!.state).replace('TASK_STATE_', '')
}

/** The data parts of the question that a task asks. */
export function questionsOf({ status }: { status: TaskStatus | undefined }): Record<string, any>[] {
  return (status?.message?.parts ?? []).flatMap(({ content }) =>
    content?.$case === 'data' ? [content.value as Record<string, any>] : [],
  )
}

export const textIn = (parts: Part[]): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

/** The texts of the artifacts of a task by their ids. */
export function textsOf({ artifacts }: Task): Record<string, string> {
  return Object.fromEntries(artifacts.map(({ artifactId, parts }) => [artifactId, textIn(parts)]))
}

/** What a client that follows the rules of `append` has after these events, and the states that it saw. */
export function foldStream(events: StreamResponse[]) {
  const texts: Record<string, string> = {}
  const states: string[] = []
  let task: Task | null = null
  let appended = 0
  for (const { payload } of events) {
    if (payload?.$case === 'task') {
      task = payload.value
      states.push(stateOf(task))
      Object.assign(texts, textsOf(task))
    }
    if (payload?.$case === 'statusUpdate') states.push(stateOf(payload.value))
    if (payload?.$case !== 'artifactUpdate') continue
    const { artifact, append } = payload.value
    const { artifactId, parts } = artifact!
    if (append) appended++
    texts[artifactId] = (append ? (texts[artifactId] ?? '') : '') + textIn(parts)
  }
  return { id: task?.id ?? '', task, texts, states, appended, last: events.at(-1)?.payload }
}

export async function collect(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = []
  for await (const event of stream) events.push(event)
  return events
}
