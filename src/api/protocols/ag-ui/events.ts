/** Renders what happens in a run as events of AG-UI, without what the client has already. */
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { shownArguments, type Approval } from '../../../domain/approvals/index.ts'
import { type Generation, type Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import type { InputMessage } from '../../../domain/threads/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import {
  argumentsForClient,
  argumentsToShow,
  resultText,
  messageId,
  questionId,
  newTextOf,
  failureText,
  unsaidOutput,
} from '../segments/presentation.ts'
import type { RunUpdate } from '../segments/segment-log.ts'

export type AgUiEvent = JsonObject & { type: string }

/** The id of the message that has the result of a call, for a client that did not give it. */
export const resultMessageId = (callId: string): string => `res_${callId.slice('call_'.length)}`

/** What the client has of the conversation. */
export interface ClientHistory {
  /** The length of each text of the assistant, by message. */
  texts: Map<string, number>
  calls: Set<string>
  /** Those of them whose arguments did not come: the stream was cut right before. */
  begun: Set<string>
  /** Calls with a result. */
  results: Set<string>
}

/** In what the clients differ that are served. */
export interface ClientTraits {
  /** Whether it speaks AG-UI 1.0; else 0.0, which has neither a version nor the outcome `cancelled`. */
  isCurrent: boolean
  /**
   * Whether it may run every call that it sees without a result, before a question about the call is answered. Such a
   * call is shown when it is the client's to run, or with its result; the question has its name and arguments.
   */
  runsOpenCalls: boolean
  /** Whether it runs its calls at once and then begins the next part: it is asked after that. */
  isAskedLast: boolean
}

/** The ids by which the client knows thread and run. */
export interface Names {
  threadId: string
  runId: string
}

export class RunRendering {
  readonly #names: Names
  readonly #seen: ClientHistory
  #open: { id: string; sent: string } | null = null
  /** Text on its way, from its beginning. */
  #unsettled = { id: '', text: '' }
  #lastText = ''
  /** Calls that the client got here to run. */
  readonly #handedOver = new Set<string>()
  /** Calls of this run of AG-UI without a result. */
  readonly #unanswered = new Set<string>()
  /** Questions that are open, by call. */
  readonly #interrupts = new Map<string, JsonObject>()
  readonly #generationId: string
  readonly #client: ClientTraits

  constructor({ threadId, runId }: Names, seen: ClientHistory, generationId: string, client: ClientTraits) {
    this.#names = { threadId, runId }
    this.#seen = seen
    this.#generationId = generationId
    this.#client = client
  }

  begin(): AgUiEvent[] {
    const version = this.#client.isCurrent ? { protocolVersion: '1.0' } : {}
    return [{ type: 'RUN_STARTED', ...this.#names, ...version }]
  }

  /** Messages of the input, for a client that has none of them. */
  input(messages: readonly InputMessage[]): AgUiEvent[] {
    return messages.flatMap(({ role, content }, i) => {
      const messageId_ = messageId(this.#generationId, 0, i)
      if (content === '') return []
      return [
        { type: 'TEXT_MESSAGE_START', messageId: messageId_, role: role === 'USER' ? 'user' : 'assistant' },
        { type: 'TEXT_MESSAGE_CONTENT', messageId: messageId_, delta: content },
        { type: 'TEXT_MESSAGE_END', messageId: messageId_ },
      ]
    })
  }

  /** The events that follow from what happened. */
  add(one: RunUpdate): AgUiEvent[] {
    switch (one.type) {
      case 'text':
        return this.#text(one)
      case 'reset':
        return this.#closeText()
      case 'step':
        return this.#step(one.step, one.calls)
      case 'call':
      case 'clientCall':
        return this.#result(one.call)
      case 'clientCalls':
        // One message has all of them, so that their results follow it together.
        return one.calls.flatMap((call) => this.#clientCall(call, one.calls[0]!.id))
      case 'approvals':
        return one.approvals.flatMap((approval) => this.#question(approval))
      case 'end':
        return this.#end(one.generation)
    }
  }

  /** The events with which the stream ends while the run waits for the client. */
  pause(): AgUiEvent[] {
    const isLater = this.#client.isAskedLast && this.#handedOver.size > 0
    const asks = this.#interrupts.size > 0 && !isLater
    const outcome = asks
      ? { outcome: { type: 'interrupt', interrupts: [...this.#interrupts.values()] } }
      : this.#left()
    return [...this.#closeText(), { type: 'RUN_FINISHED', ...this.#names, ...outcome }]
  }

  /**
   * AG-UI forbids an interrupt for calls of the client: the run of AG-UI is over, and names what it left. Before 1.0 it has no word for
   * that, and some clients run no call of a part that is called a success.
   */
  #left(): JsonObject {
    const pendingToolCallIds = [...this.#unanswered]
    if (pendingToolCallIds.length === 0) return { outcome: { type: 'success' } }
    return this.#client.isCurrent ? { outcome: { type: 'success', pendingToolCallIds } } : {}
  }

  #closeText(): AgUiEvent[] {
    if (!this.#open) return []
    const { id } = this.#open
    this.#open = null
    return [{ type: 'TEXT_MESSAGE_END', messageId: id }]
  }

  /** Sends what the client does not have of a message: it appends to the messages that it has. */
  #write(id: string, text: string): AgUiEvent[] {
    const has = this.#seen.texts.get(id) ?? 0
    const events: AgUiEvent[] = []
    const from = Math.max(has, this.#open?.id === id ? this.#open.sent.length : 0)
    if (text.length <= from) return events
    if (this.#open?.id !== id) {
      events.push(...this.#closeText(), { type: 'TEXT_MESSAGE_START', messageId: id, role: 'assistant' })
      this.#open = { id, sent: '' }
    }
    this.#open!.sent = text
    return [...events, { type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: text.slice(from) }]
  }

  #text(one: Extract<RunUpdate, { type: 'text' }>): AgUiEvent[] {
    const id = messageId(this.#generationId, one.stepIndex, one.attempt)
    const known = this.#unsettled.id === id ? this.#unsettled.text : ''
    const added = newTextOf(one, known.length)
    if (!added) return []
    this.#unsettled = { id, text: known + added }
    return this.#write(id, this.#unsettled.text)
  }

  #step(step: Step, calls: ToolCall[]): AgUiEvent[] {
    const id = messageId(step.generationId, step.stepIndex, step.attempt)
    const text = textOf(step.parts)
    this.#lastText = text
    const events = [...this.#write(id, text), ...this.#closeText()]
    // Those of the client follow when they are its to run.
    for (const call of calls.filter(({ kind }) => kind !== 'client')) {
      if (call.approvalId === null || !this.#client.runsOpenCalls)
        events.push(...this.#call(call.id, call.runtimeName, argumentsToShow(call), id))
      if (call.status === 'INVALID') events.push(...this.#result(call))
    }
    return events
  }

  #call(
    toolCallId: string,
    toolCallName: string,
    args: JsonObject,
    parentMessageId: string | null,
  ): AgUiEvent[] {
    // A client that has the beginning keeps it, and appends the arguments to none.
    if (this.#seen.calls.has(toolCallId) && !this.#seen.begun.delete(toolCallId)) return []
    this.#seen.calls.add(toolCallId)
    this.#unanswered.add(toolCallId)
    const parent = parentMessageId === null ? {} : { parentMessageId }
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName, ...parent },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: writeJson(args) },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
  }

  #clientCall(call: ToolCall, parentMessageId: string): AgUiEvent[] {
    this.#interrupts.delete(call.id)
    const events = this.#call(call.id, call.runtimeName, argumentsForClient(call), parentMessageId)
    if (events.length > 0 && call.status === 'AWAITING_CLIENT') this.#handedOver.add(call.id)
    return events
  }

  #question(approval: Approval): AgUiEvent[] {
    const { toolCallId, runtimeName, status } = approval
    const id = questionId(approval)
    const expiresAt = approval.expiresAt.toISOString()
    const args = shownArguments(approval)
    const { runsOpenCalls } = this.#client
    const shown = runsOpenCalls ? [] : this.#call(toolCallId, runtimeName, args, null)
    // The client that runs calls takes the answer to a `tool_call` for its result, and cannot even give up an expired one.
    const told = runsOpenCalls
      ? { reason: 'approval', metadata: { toolName: runtimeName, arguments: args, expiresAt } }
      : { reason: 'tool_call', expiresAt }
    const message = `Approve ${runtimeName}?`
    if (status === 'PENDING')
      this.#interrupts.set(toolCallId, { id, message, toolCallId, responseSchema: answerSchema, ...told })
    return shown
  }

  #result(call: ToolCall): AgUiEvent[] {
    this.#interrupts.delete(call.id)
    this.#handedOver.delete(call.id)
    if (this.#seen.results.has(call.id)) return []
    this.#seen.results.add(call.id)
    const begun = this.#call(call.id, call.runtimeName, argumentsToShow(call), null)
    this.#unanswered.delete(call.id)
    return [
      ...begun,
      {
        type: 'TOOL_CALL_RESULT',
        messageId: resultMessageId(call.id),
        toolCallId: call.id,
        content: resultText(call) || call.status,
        role: 'tool',
      },
    ]
  }

  #end(ended: Generation): AgUiEvent[] {
    const { id, output, storedStatus, error, stepCount } = ended
    const unsaid = unsaidOutput(ended, this.#lastText)
    const whole = unsaid === null ? [] : this.#write(messageId(id, stepCount + 1, 0), unsaid)
    const events = [...whole, ...this.#closeText()]
    if (storedStatus === 'FAILED' || storedStatus === 'EXPIRED')
      return [...events, { type: 'RUN_ERROR', message: failureText(ended), code: error?.code ?? 'EXPIRED' }]
    const isCancelled = storedStatus === 'CANCELLED' && this.#client.isCurrent
    const outcome = { type: isCancelled ? 'cancelled' : 'success' }
    return [
      ...events,
      {
        type: 'RUN_FINISHED',
        ...this.#names,
        ...(output?.object == null ? {} : { result: output.object }),
        outcome,
      },
    ]
  }
}

const answerSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean', description: 'Whether the call may run.' },
    editedArgs: { type: 'object', description: 'Arguments that replace those of the call.' },
    reason: { type: 'string', description: 'Why, for the model and the audit.' },
  },
  required: ['approved'],
}
