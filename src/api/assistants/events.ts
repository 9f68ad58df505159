/** Renders what happens in a run as events of the Assistants API: messages, and steps with calls. */
import type { JsonObject } from '../../core/json.ts'
import { textOf, type Generation, type Step } from '../../domain/generations/index.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import type { Happening } from '../runs/leg-log.ts'
import { messageId } from '../runs/message-ids.ts'
import { messageShape, textPart, type MessageFacts, type Shown } from './shapes.ts'
import { callsStep, messageStep, shownCall, type StepFacts, type StepStatus } from './steps.ts'

export interface StreamedEvent {
  event: string
  data: JsonObject
}

/** The message whose text is on its way. */
interface OpenMessage {
  id: string
  stepIndex: number
  sent: string
}

/** The calls of one response of the model, as the client knows them. */
interface OpenCalls {
  facts: Omit<StepFacts, 'status'>
  /** In the order in which they were shown. */
  calls: ToolCall[]
  /** How many the response made. */
  made: number
}

export class RunEvents {
  readonly #run: Generation
  readonly #startedAt = new Date()
  #open: OpenMessage | null = null
  #calls: OpenCalls | null = null

  constructor(run: Generation) {
    this.#run = run
  }

  /** The client knows the calls of this step from the stream before. */
  goOn(step: Step, calls: ToolCall[]): void {
    this.#calls = { facts: this.#factsOf(step), calls, made: calls.length }
  }

  /** The events that follow from what happened. */
  add(one: Happening): StreamedEvent[] {
    switch (one.is) {
      case 'text':
        return this.#text(one)
      case 'reset':
        return this.#closeMessage('incomplete')
      case 'step':
        return this.#step(one.step, one.calls)
      case 'call':
      case 'clientCall':
        return this.#settled(one.call)
      case 'clientCalls':
        return one.calls.flatMap((call) => this.#asked(call))
      // A person answers; the run goes on.
      case 'approvals':
        return []
      case 'end':
        return this.end()
    }
  }

  /** Closes a message that was not committed. */
  end(): StreamedEvent[] {
    return this.#closeMessage('incomplete')
  }

  #text(one: Extract<Happening, { is: 'text' }>): StreamedEvent[] {
    const id = messageId(this.#run.id, one.stepIndex, one.attempt)
    const sent = this.#open?.id === id ? this.#open.sent : ''
    // A piece that does not continue what was seen is part of the message when it is committed.
    if (one.offset > sent.length || one.offset + one.text.length <= sent.length) return []
    return this.#write(id, one.stepIndex, sent + one.text.slice(sent.length - one.offset))
  }

  /** Appends to the open message, which begins when there is none with this id. */
  #write(id: string, stepIndex: number, text: string): StreamedEvent[] {
    const events: StreamedEvent[] = []
    if (this.#open?.id !== id) {
      events.push(...this.#closeMessage('incomplete'))
      this.#open = { id, stepIndex, sent: '' }
      const step = messageStep(this.#stepFacts('in_progress'), id)
      events.push({ event: 'thread.run.step.created', data: step })
      events.push({ event: 'thread.run.step.in_progress', data: step })
      const message = this.#message('in_progress', [])
      events.push({ event: 'thread.message.created', data: message })
      events.push({ event: 'thread.message.in_progress', data: message })
    }
    const open = this.#open!
    const piece = text.slice(open.sent.length)
    open.sent = text
    if (piece) events.push({ event: 'thread.message.delta', data: textDelta(id, piece) })
    return events
  }

  #closeMessage(status: 'incomplete' | 'completed'): StreamedEvent[] {
    if (!this.#open) return []
    const { id, sent } = this.#open
    const message = this.#message(status, [textPart(sent)])
    const ended = status === 'completed' ? 'completed' : 'failed'
    const step = messageStep(this.#stepFacts(ended), id)
    this.#open = null
    return [
      { event: `thread.message.${status}`, data: message },
      { event: `thread.run.step.${ended}`, data: step },
    ]
  }

  #step(step: Step, calls: ToolCall[]): StreamedEvent[] {
    const text = textOf(step.parts)
    const id = messageId(this.#run.id, step.stepIndex, step.attempt)
    const isOther = this.#open && (this.#open.id !== id || !text.startsWith(this.#open.sent))
    const events = isOther ? this.#closeMessage('incomplete') : []
    if (text) events.push(...this.#write(id, step.stepIndex, text), ...this.#closeMessage('completed'))
    else events.push(...this.#closeMessage('incomplete'))
    if (calls.length === 0) return events
    this.#calls = { facts: this.#factsOf(step), calls: [], made: calls.length }
    events.push({
      event: 'thread.run.step.created',
      data: callsStep({ ...this.#calls.facts, status: 'in_progress' }, []),
    })
    // Those of the client follow when they are its to run.
    for (const call of calls) if (call.kind !== 'client' || call.settledAt) events.push(...this.#shown(call))
    return events
  }

  /** Adds a call to its step. */
  #shown(call: ToolCall): StreamedEvent[] {
    const open = this.#calls
    if (!open || open.calls.some(({ id }) => id === call.id)) return []
    const index = open.calls.push(call) - 1
    return [callDelta(open.facts, index, shownCall(call)), ...this.#closeCalls()]
  }

  /** A call of a run under this one is in the run only, when it asks for it. */
  #asked(call: ToolCall): StreamedEvent[] {
    return call.generationId === this.#run.id ? this.#shown(call) : []
  }

  #settled(call: ToolCall): StreamedEvent[] {
    const open = this.#calls
    const index = open?.calls.findIndex(({ id }) => id === call.id) ?? -1
    if (!open || call.stepIndex !== open.facts.stepIndex) return []
    if (index < 0) return this.#shown(call)
    open.calls[index] = call
    return this.#closeCalls()
  }

  #closeCalls(): StreamedEvent[] {
    const open = this.#calls
    if (!open || open.calls.length < open.made || open.calls.some(({ settledAt }) => !settledAt)) return []
    this.#calls = null
    const step = callsStep(
      { ...open.facts, status: 'completed' },
      open.calls.map((call) => shownCall(call)),
    )
    return [{ event: 'thread.run.step.completed', data: step }]
  }

  #factsOf({ stepIndex, createdAt, usage }: Step): Omit<StepFacts, 'status'> {
    return { run: this.#run, stepIndex, createdAt, usage }
  }

  #stepFacts(status: StepStatus): StepFacts {
    return { run: this.#run, stepIndex: this.#open!.stepIndex, createdAt: this.#startedAt, status }
  }

  #message(status: MessageFacts['status'], content: JsonObject[]): Shown {
    const { id: runId, threadId, agentId, createdAt } = this.#run
    const role = 'assistant'
    return messageShape({
      id: this.#open!.id,
      threadId,
      createdAt,
      role,
      content,
      assistantId: agentId,
      runId,
      status,
    })
  }
}

function textDelta(id: string, value: string): JsonObject {
  return {
    id,
    object: 'thread.message.delta',
    delta: { content: [{ index: 0, type: 'text', text: { value, annotations: [] } }] },
  }
}

function callDelta(facts: Omit<StepFacts, 'status'>, index: number, call: JsonObject): StreamedEvent {
  const { id } = callsStep({ ...facts, status: 'in_progress' }, [])
  return {
    event: 'thread.run.step.delta',
    data: {
      id,
      object: 'thread.run.step.delta',
      delta: { step_details: { type: 'tool_calls', tool_calls: [{ index, ...call }] } },
    },
  }
}
