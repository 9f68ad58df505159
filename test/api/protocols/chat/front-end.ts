/** A chat front end as an app has it: the AI SDK's own chat over its own transport, with its state in memory. */
import { AbstractChat, DefaultChatTransport, type ChatInit, type ChatState, type UIMessage } from 'ai'

class MemoryState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready'
  error: Error | undefined
  messages: UIMessage[]
  constructor(messages: UIMessage[]) {
    this.messages = messages
  }
  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, structuredClone(message))
  }
  snapshot = <T>(value: T): T => structuredClone(value)
}

export class FrontEnd extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new MemoryState(messages) })
  }
}

export interface ChatOptions extends Omit<ChatInit<UIMessage>, 'transport'> {
  body?: object
  fetch?: typeof fetch
}

/** Opens a chat with an agent, by name or id. */
export function openChat(url: string, key: string, agent: string, options: ChatOptions = {}): FrontEnd {
  const { body, fetch: ownFetch, ...init } = options
  return new FrontEnd({
    ...init,
    transport: new DefaultChatTransport({
      api: `${url}/api/chat/${encodeURIComponent(agent)}`,
      headers: { authorization: `Bearer ${key}` },
      ...(body ? { body } : {}),
      ...(ownFetch ? { fetch: ownFetch } : {}),
    }),
  })
}

/** The texts and tool parts of the last message, shortly. */
export function partsOf(chat: FrontEnd): unknown[] {
  return (chat.lastMessage?.parts ?? []).map((part: any) =>
    part.type === 'text' ? part.text : part.toolCallId ? `${part.type} ${part.state}` : part.type,
  )
}
