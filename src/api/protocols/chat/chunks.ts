/** Renders what happens in a run as chunks of the AI SDK's UI message stream. One run is one message, whatever its pauses. */
import type { JsonObject } from '../../../core/json.ts'
import { shownArguments, type Approval } from '../../../domain/approvals/index.ts'
import { type Generation, type Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import { hasOutput, type ToolCall } from '../../../domain/tool-calls/index.ts'
import {
  argumentsForClient,
  argumentsToShow,
  resultText,
  questionId,
  newTextOf,
  failureText,
  unsaidOutput,
} from '../segments/presentation.ts'
import type { RunUpdate } from '../segments/segment-log.ts'

export type Chunk = JsonObject & { type: string }

/** The id of the message of a run. */
export function messageId(generationId: string): string {
  return `msg_${generationId.slice('gen_'.length)}`
}

/** The run of the id of a message; null for any other text. */
export function runOfMessage(id: string): string | null {
  const body = /^msg_([0-9a-z]{24})$/.exec(id)?.[1]
  return body ? `gen_${body}` : null
}

/** `known`: calls whose outputs the client has given itself. */
export class MessageRendering {
  readonly #known: ReadonlySet<string>
  /** The open part of text: its step and attempt, and what was sent of it. */
  #open: { id: string; sent: string } | null = null
  #inStep = false
  #lastText = ''
  /** Calls that the client has as such that run here. */
  readonly #here = new Set<string>()

  constructor(known: Iterable<string> = []) {
    this.#known = new Set(known)
  }

  /** The chunks with which the stream begins. */
  begin({ id }: Generation): Chunk[] {
    return [{ type: 'start', messageId: messageId(id) }]
  }

  /** The chunks that follow from what happened. */
  add(one: RunUpdate): Chunk[] {
    switch (one.type) {
      case 'text':
        return this.#text(one)
      case 'reset':
        return this.#closeText()
      case 'step':
        return this.#step(one.step, one.calls)
      case 'call':
        return [...editedInput(one.call), ...outputOf(one.call)]
      case 'clientCall':
        return this.#known.has(one.call.id) ? [] : outputOf(one.call)
      case 'clientCalls':
        return one.calls.map((call) => this.#clientCall(call))
      case 'approvals':
        return one.approvals.flatMap((approval) => this.#question(approval))
      case 'end':
        return this.#end(one.generation)
    }
  }

  /** The chunks with which the stream ends while the run waits for the client. */
  pause(): Chunk[] {
    return [...this.#endStep(), { type: 'finish', finishReason: 'tool-calls' }]
  }

  #beginStep(): Chunk[] {
    if (this.#inStep) return []
    this.#inStep = true
    return [{ type: 'start-step' }]
  }

  #endStep(): Chunk[] {
    const closed = this.#closeText()
    if (!this.#inStep) return closed
    this.#inStep = false
    return [...closed, { type: 'finish-step' }]
  }

  #closeText(): Chunk[] {
    if (!this.#open) return []
    const { id } = this.#open
    this.#open = null
    return [{ type: 'text-end', id }]
  }

  /** Appends to the open part of text, which begins when there is none of this id. */
  #write(id: string, text: string): Chunk[] {
    const opened: Chunk[] = []
    if (this.#open?.id !== id) {
      opened.push(...this.#closeText(), { type: 'text-start', id })
      this.#open = { id, sent: '' }
    }
    const delta = text.slice(this.#open!.sent.length)
    this.#open!.sent = text
    return delta ? [...opened, { type: 'text-delta', id, delta }] : opened
  }

  #text(one: Extract<RunUpdate, { type: 'text' }>): Chunk[] {
    const id = textId(one)
    const sent = this.#open?.id === id ? this.#open.sent : ''
    const added = newTextOf(one, sent.length)
    if (!added) return []
    // The step before ends when the text of the next one begins.
    const begun = sent ? [] : this.#next()
    return [...begun, ...this.#write(id, sent + added)]
  }

  #next(): Chunk[] {
    return this.#open ? [] : [...this.#endStep(), ...this.#beginStep()]
  }

  #step(step: Step, calls: ToolCall[]): Chunk[] {
    const id = textId(step)
    const text = textOf(step.parts)
    this.#lastText = text
    const continues = this.#open?.id === id && text.startsWith(this.#open.sent)
    const chunks = continues ? [] : [...this.#closeText(), ...this.#endStep(), ...this.#beginStep()]
    // Text on its way that was not committed stays; what was committed follows it as a part of its own.
    if (text)
      chunks.push(
        ...this.#write(continues || this.#open === null ? id : `${id}.`, text),
        ...this.#closeText(),
      )
    // Those of the client follow when they are its to run.
    for (const call of calls.filter(({ kind }) => kind !== 'client')) {
      this.#here.add(call.id)
      chunks.push(inputOf(call, argumentsToShow(call), true))
      if (call.status === 'INVALID') chunks.push(...outputOf(call))
    }
    return chunks
  }

  #clientCall(call: ToolCall): Chunk {
    // An answered one must not be run again by a client that reads the run from its beginning.
    return inputOf(call, argumentsForClient(call), call.status !== 'AWAITING_CLIENT')
  }

  /** The question, on the call that it is about. Its call is shown as one that runs here until it is the client's to run. */
  #question(approval: Approval): Chunk[] {
    const { toolCallId, runtimeName, status } = approval
    const shown = this.#here.has(toolCallId)
      ? []
      : [input(toolCallId, runtimeName, shownArguments(approval), true)]
    this.#here.add(toolCallId)
    return status === 'PENDING'
      ? [...shown, { type: 'tool-approval-request', approvalId: questionId(approval), toolCallId }]
      : shown
  }

  #end(ended: Generation): Chunk[] {
    const { id, storedStatus, stopReason, truncated, cancelReason, stepCount } = ended
    const unsaid = unsaidOutput(ended, this.#lastText)
    const whole =
      unsaid === null ? [] : [...this.#beginStep(), ...this.#write(`${id}/${stepCount + 1}`, unsaid)]
    const chunks = [...whole, ...this.#endStep()]
    if (storedStatus === 'CANCELLED')
      return [...chunks, { type: 'abort', ...(cancelReason ? { reason: cancelReason } : {}) }]
    if (storedStatus !== 'COMPLETED')
      return [
        ...chunks,
        { type: 'error', errorText: failureText(ended) },
        { type: 'finish', finishReason: 'error' },
      ]
    return [...chunks, { type: 'finish', finishReason: finishReasonOf(stopReason, truncated) }]
  }
}

function textId({ stepIndex, attempt }: { stepIndex: number; attempt: number }): string {
  return `${stepIndex}.${attempt}`
}

function finishReasonOf(stopReason: Generation['stopReason'], truncated: boolean): string {
  if (stopReason === 'CONTENT_FILTER') return 'content-filter'
  return truncated || stopReason === 'LENGTH' ? 'length' : 'stop'
}

/** `runsHere`: the client shows the call, and never runs it or sends it back by itself. */
function input(toolCallId: string, toolName: string, args: JsonObject, runsHere: boolean): Chunk {
  return { type: 'tool-input-available', toolCallId, toolName, input: args, providerExecuted: runsHere }
}

function inputOf(call: ToolCall, args: JsonObject, runsHere: boolean): Chunk {
  return input(call.id, call.runtimeName, args, runsHere)
}

/** An approver replaced arguments: the call is shown with those that it ran with. */
function editedInput(call: ToolCall): Chunk[] {
  return call.editedKeys?.length ? [inputOf(call, argumentsToShow(call), true)] : []
}

/** What came of a call that the client has not answered itself: it never sends that back. */
function outputOf(call: ToolCall): Chunk[] {
  const { id: toolCallId, status, result } = call
  const isAnswered = hasOutput(call)
  if (status === 'REJECTED' && !isAnswered) return [{ type: 'tool-output-denied', toolCallId }]
  const text = resultText(call)
  if (!isAnswered)
    return [{ type: 'tool-output-error', toolCallId, errorText: text || status, providerExecuted: true }]
  return [
    {
      type: 'tool-output-available',
      toolCallId,
      output: result?.structuredContent ?? text,
      providerExecuted: true,
    },
  ]
}
