/** The client of AG-UI that the API is judged by. */
import { importPeer } from '../../../support/peers.ts'

/** What is used of AG-UI's HttpAgent: its own package wants another major of zod, so it is no dependency here. */
export interface HttpAgent {
  threadId: string
  messages: Record<string, any>[]
  pendingInterrupts: { id: string; toolCallId?: string; responseSchema?: object; expiresAt?: string }[]
  addMessage(message: object): void
  abortRun(): void
  subscribe(subscriber: object): { unsubscribe(): void }
  runAgent(
    parameters?: { runId?: string; tools?: object[]; context?: object[]; resume?: object[] },
    subscriber?: object,
  ): Promise<{ result: unknown; newMessages: Record<string, any>[] }>
}

/** Opens a thread of an agent, by name or id. `messages` are those that the page has. */
export async function openAgent(
  url: string,
  key: string,
  agent: string,
  init: { threadId?: string; messages?: object[] } = {},
): Promise<HttpAgent> {
  const { HttpAgent } = await importPeer<{
    HttpAgent: new (config: object) => HttpAgent
  }>('@ag-ui/client')
  return new HttpAgent({
    url: `${url}/ag-ui/${encodeURIComponent(agent)}`,
    headers: { authorization: `Bearer ${key}` },
    ...(init.threadId ? { threadId: init.threadId } : {}),
    ...(init.messages ? { initialMessages: init.messages } : {}),
  })
}

let count = 0
export const said = (content: string, id = `m${++count}`) => ({ id, role: 'user', content })
/** The messages of the page, shortly. */
export const shown = (agent: HttpAgent) =>
  agent.messages.map(({ role, content, toolCalls }) => [
    role,
    content ?? '',
    ...(toolCalls ?? []).map((call: any) => `${call.function.name} ${call.function.arguments}`),
  ])

/** What is used of CopilotKitCore, the client of CopilotKit without a framework. */
export interface CopilotCore {
  agents: Record<string, HttpAgent>
  runtimeConnectionStatus: string
  connect(): void
  getAgent(id: string): HttpAgent | undefined
  addTool(tool: object): void
  subscribe(subscriber: object): { unsubscribe(): void }
  runAgent(input: { agent: HttpAgent; resume?: object[] }): Promise<unknown>
  connectAgent(input: { agent: HttpAgent }): Promise<unknown>
  stopAgent(input: { agent: HttpAgent }): void
}

/** What its frameworks keep of the questions of a page, and make of the answers. */
export interface InterruptState {
  setStandard(interrupts: HttpAgent['pendingInterrupts']): void
  resolve(payload: object, interruptId?: string): { kind: string; resume?: object[]; toolResults?: object[] }
}

export async function openInterrupts(): Promise<InterruptState> {
  const { ɵInterruptState: State } = await importPeer<{ ɵInterruptState: new () => InterruptState }>(
    '@copilotkit/core',
  )
  return new State()
}

/** Everything that the page was told of: its errors, by their codes. */
export interface CopilotPage {
  core: CopilotCore
  agent: HttpAgent
  errors: { code: string; message: string }[]
}

/** Loads the client, and the list of agents by it. */
export async function openCore(
  url: string,
  key: string,
  more: object = {},
): Promise<Omit<CopilotPage, 'agent'>> {
  const { CopilotKitCore } = await importPeer<{
    CopilotKitCore: new (config: object) => CopilotCore
  }>('@copilotkit/core')
  const headers = { authorization: `Bearer ${key}` }
  const core = new CopilotKitCore({
    runtimeUrl: `${url}/copilotkit`,
    headers,
    deferInitialConnection: true,
    ...more,
  })
  const errors: CopilotPage['errors'] = []
  const settled = new Promise<void>((resolve) => {
    core.subscribe({
      onError: ({ code, error }: { code: string; error: Error }) => {
        errors.push({ code, message: error.message })
        resolve()
      },
      onRuntimeConnectionStatusChanged: ({ status }: { status: string }) => {
        if (status === 'connected') resolve()
      },
    })
  })
  // It asks only in a page, and looks for one at once.
  Object.assign(globalThis, { window: globalThis })
  core.connect()
  Reflect.deleteProperty(globalThis, 'window')
  await settled
  return { core, errors }
}

/** A page of CopilotKit with an agent by its name, and a thread. */
export async function openPage(
  url: string,
  key: string,
  named: string,
  threadId: string,
): Promise<CopilotPage> {
  const { core, errors } = await openCore(url, key)
  const agent = core.getAgent(named)
  if (!agent) throw new Error(`${named} is not listed: ${JSON.stringify(errors)}`)
  agent.threadId = threadId
  return { core, agent, errors }
}
