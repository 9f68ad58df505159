/** A chat of the AI SDK without a framework: text as it is written, calls, and buttons where a person is asked. */
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'

/** The state of the chat; every change is drawn. In React this is `useChat` of @ai-sdk/react. */
class State {
  status = 'ready'
  error = undefined
  #messages = []
  get messages() {
    return this.#messages
  }
  set messages(messages) {
    this.#messages = messages
    draw(messages)
  }
  pushMessage = (message) => (this.messages = [...this.#messages, message])
  popMessage = () => (this.messages = this.#messages.slice(0, -1))
  replaceMessage = (index, message) => (this.messages = this.#messages.with(index, structuredClone(message)))
  snapshot = (value) => structuredClone(value)
}
class Chat extends AbstractChat {}

const chat = new Chat({
  state: new State(),
  transport: new DefaultChatTransport({ api: '/api/chat/demo' }),
  // The answers go back as soon as every question has one.
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  onError: (error) => alert(error.message),
})

function draw(messages) {
  const items = messages.map(({ role, parts }) => element('li', `${role}: `, ...parts.flatMap(shown)))
  document.querySelector('#messages').replaceChildren(...items)
}

function shown(part) {
  if (part.type === 'text') return [element('p', part.text)]
  if (!part.type.startsWith('tool-')) return []
  const call = element('p', `${part.type.slice('tool-'.length)} ${JSON.stringify(part.input)}: ${part.state}`)
  return part.state === 'approval-requested' ? [call, ...buttons(part.approval)] : [call]
}

function buttons({ id }) {
  return [true, false].map((approved) => {
    const button = element('button', approved ? 'Approve' : 'Reject')
    button.addEventListener('click', () => void chat.addToolApprovalResponse({ id, approved }))
    return button
  })
}

function element(name, ...content) {
  const made = document.createElement(name)
  made.append(...content)
  return made
}

const form = document.querySelector('form')
form.addEventListener('submit', (event) => {
  event.preventDefault()
  void chat.sendMessage({ text: new FormData(form).get('text') })
})
