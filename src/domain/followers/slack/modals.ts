/** The modals of Slack that ask for the words of a verdict, and what is submitted with them. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import type { Approval } from '../../approvals/index.ts'
import { laterFields, type Choice, type ChoiceField } from '../choices.ts'
import { plain, readValue, valueOf } from './blocks.ts'

/** The verdicts that need words. */
export type SpokenVerdict = Exclude<Choice['what'], 'APPROVE'>

const views: Record<string, SpokenVerdict> = { gatehouse_reason: 'REJECT', gatehouse_answer: 'RESPOND' }

/** The block of the text, where Slack shows what is wrong. */
export const textBlock = 'reason'

/** Slack takes no larger `max_length`. */
const longestAnswer = 3000
const longestReason = 2000

/** The modal that asks for the reason of a rejection and what becomes of later calls, or for an answer. */
export function modalOf(what: SpokenVerdict, approval: Approval): JsonObject {
  const isAnswer = what === 'RESPOND'
  return {
    type: 'modal',
    callback_id: Object.keys(views).find((id) => views[id] === what)!,
    private_metadata: valueOf(approval),
    title: plain(isAnswer ? 'Answer the call' : 'Reject the call', 24),
    submit: plain(isAnswer ? 'Answer' : 'Reject', 24),
    close: plain('Cancel', 24),
    blocks: isAnswer ? [answerBlock()] : [reasonBlock(), ...laterFields(approval).map(selectBlock)],
  }
}

function reasonBlock(): JsonObject {
  return {
    ...textInput('Reason, which the agent is told', longestReason),
    optional: true,
  }
}

function answerBlock(): JsonObject {
  const hint =
    'It becomes the result of the call, and the tool is not run. If the tool has an output schema, it is JSON that fits it.'
  return {
    ...textInput('Answer', longestAnswer),
    hint: plain(hint, 2000),
  }
}

function textInput(label: string, longest: number): JsonObject {
  return {
    type: 'input',
    block_id: textBlock,
    label: plain(label, 100),
    element: { type: 'plain_text_input', action_id: textBlock, multiline: true, max_length: longest },
  }
}

function selectBlock({ name, label, options }: ChoiceField): JsonObject {
  const all = options.map((one) => ({ text: plain(one.label, 75), value: one.value }))
  return {
    type: 'input',
    block_id: name,
    label: plain(label, 100),
    element: { type: 'static_select', action_id: name, options: all, initial_option: all[0]! },
  }
}

/** What was submitted with a modal of ours; null for anything else. */
export function submissionOf(
  payload: JsonObject,
): { approvalId: string; digest: string; choice: Choice } | null {
  const view = objectOf(payload['view'])
  const what = views[String(view['callback_id'])]
  const value = readValue(view['private_metadata'])
  if (payload['type'] !== 'view_submission' || !what || !value) return null
  const values = objectOf(objectOf(view['state'])['values'])
  const typed = (name: string) => objectOf(objectOf(values[name])[name])
  const textOf = (given: Json | undefined) => (typeof given === 'string' ? given : null)
  const choice: Choice = {
    what,
    text: textOf(typed(textBlock)['value']) ?? '',
    read: (name) => textOf(objectOf(typed(name)['selected_option'])['value']),
  }
  return { ...value, choice }
}

/** The value when it is an object, else an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
