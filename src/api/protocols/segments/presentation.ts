/** A run as every protocol shows it to clients: its texts, its calls, and the ids of messages and questions. Pure. */
import { writeJson, type JsonObject } from '../../../core/json.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import type { RunUpdate } from './segment-log.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { maskAt } from '../../../domain/tools/index.ts'
import { kindOfId } from '../../../core/ids.ts'
import type { Approval } from '../../../domain/approvals/index.ts'

/**
 * What a piece of text on its way adds to the `known` characters before it; empty for one that does not continue them, which is a
 * part of the text when it is committed.
 */
export function newTextOf({ offset, text }: Extract<RunUpdate, { type: 'text' }>, known: number): string {
  return offset > known ? '' : text.slice(known - offset)
}

/** The structured output of a run, as JSON, whose last step said no text; null where there is none to say. */
export function unsaidOutput({ output }: Generation, lastText: string): string | null {
  const object = output?.object ?? null
  return object === null || lastText.trim() !== '' ? null : writeJson(object)
}

/** The sentence for a run that failed or whose time is over. */
export function failureText({ error }: Generation): string {
  return error?.message ?? 'The time of the run is over.'
}

/** The arguments of a call for those who only watch it. */
export function argumentsToShow(call: ToolCall): JsonObject {
  return maskAt(call.arguments ?? {}, call.masked)
}

/** The arguments of a call for the client, whole while it waits for the client to run it. */
export function argumentsForClient(call: ToolCall): JsonObject {
  return call.status === 'AWAITING_CLIENT' ? (call.arguments ?? {}) : argumentsToShow(call)
}

/** The result of a call as text; content that is none is named by its type. */
export function resultText({ result }: ToolCall): string {
  const content = result?.content ?? []
  return content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
}

/** Ids of messages of the model: derived from the run, the step and its attempt, so that every replay has the same. */
export function messageId(generationId: string, stepIndex: number, attempt: number): string {
  return `msg_${generationId.slice('gen_'.length)}_${stepIndex}_${attempt}`
}

/** The run of such an id; null for any other text. */
export function runOfMessage(id: string): string | null {
  const body = /^msg_([0-9a-z]{24})_\d{1,6}_\d{1,6}$/.exec(id)?.[1]
  return body ? `gen_${body}` : null
}

const separator = '.'

/**
 * The id under which protocols show a question of the gate. Once its arguments are not those first asked, because
 * somebody edited them, it carries their digest, so that a verdict counts for what its author was shown.
 */
export function questionId({ id, digest, editedArguments }: Approval): string {
  return editedArguments === null ? id : `${id}${separator}${digest}`
}

/** The approval that a shown id names, and the digest that was shown with it; null for what is no such id. */
export function readQuestionId(shown: unknown): { approvalId: string; digest: string | null } | null {
  if (typeof shown !== 'string') return null
  const at = shown.indexOf(separator)
  const approvalId = at < 0 ? shown : shown.slice(0, at)
  if (kindOfId(approvalId) !== 'approval') return null
  return { approvalId, digest: at < 0 ? null : shown.slice(at + 1) }
}
