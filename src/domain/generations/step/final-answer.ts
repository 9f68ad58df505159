/**
 * Evaluates a response without tool calls: whether it is the final answer, needs its one repair, or has failed. Pure.
 */
import type { Json, JsonObject } from '../../../core/json.ts'
import { isJsonObject, tryParseJson } from '../../../core/json.ts'
import { issuesIn } from '../../../core/json-schema.ts'
import {
  type AssistantPart,
  type FinishReason,
  type ToolCallPart,
  callsOf,
  readCallInput,
  textOf,
} from '../../models/index.ts'
import type { FailureCode, NextStep, StopReason } from '../generation.ts'
import type { StepPlan } from '../decide.ts'

/** The hidden tool with which a model returns structured output; its input schema is the output schema. */
export const finalAnswerName = 'final_answer'

/** Whether the output is wrapped in a member `value`: providers require an object at the top of a tool's schema. */
export function isWrapped(outputSchema: JsonObject): boolean {
  return outputSchema['type'] !== undefined && outputSchema['type'] !== 'object'
}

export type Judgement =
  | { kind: 'complete'; stopReason: StopReason; truncated: boolean; text: string | null; object: Json | null }
  | { kind: 'repair'; nextStep: NextStep }
  | { kind: 'fail'; code: FailureCode; message: string }

export interface Answer {
  parts: AssistantPart[]
  finishReason: FinishReason
  plan: StepPlan
  outputSchema: JsonObject | null
  /** Whose budget the judgement uses. */
  projectId: string
  toolNames: string[]
  /** Whether the hidden tool is available, so that a repair can force it. */
  offersFinalAnswer: boolean
}

/** The judgement of a response; null when it calls tools, which the loop runs. */
export function judgeFinalAnswer(answer: Answer): Judgement | null {
  const calls = callsOf(answer.parts)
  const final = answer.offersFinalAnswer ? calls.find((call) => call.name === finalAnswerName) : undefined
  if (final) return judgeObject(answer, final)
  // The final step offers no tools; calls in its response are ignored.
  if (calls.length > 0 && answer.plan.final === null) return null
  const text = textOf(answer.parts)
  if (answer.outputSchema) return judgeText(answer, text)
  if (isTextEncodedCall(text, answer.toolNames))
    return repairOrFail(answer, textCallNotice, 'TEXT_ENCODED_TOOL_CALL')
  return complete(answer, text, null)
}

function complete(answer: Answer, text: string | null, object: Json | null): Judgement {
  const stopReason = answer.plan.final ?? reasonOf(answer.finishReason)
  return {
    kind: 'complete',
    stopReason,
    truncated: stopReason === 'MAX_STEPS' || stopReason === 'LENGTH',
    text,
    object,
  }
}

function reasonOf(finishReason: FinishReason): StopReason {
  if (finishReason === 'length') return 'LENGTH'
  return finishReason === 'content-filter' ? 'CONTENT_FILTER' : 'END_TURN'
}

function judgeObject(answer: Answer, call: ToolCallPart): Judgement {
  const given = readCallInput(call.input) ?? undefined
  const value = isWrapped(answer.outputSchema!) ? given?.['value'] : given
  return judgeValue(answer, value, textOf(answer.parts) || null)
}

function judgeText(answer: Answer, text: string): Judgement {
  const bare = text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, '$1')
  return judgeValue(answer, tryParseJson(bare), text)
}

function judgeValue(answer: Answer, value: Json | undefined, text: string | null): Judgement {
  const issues =
    value === undefined
      ? [{ path: [], message: 'must be JSON' }]
      : issuesIn(answer.outputSchema, answer.projectId, value)
  if (issues.length === 0) return complete(answer, text, value!)
  const faults = issues.map((issue) => `${['output', ...issue.path].join('.')} ${issue.message}`).join('; ')
  return repairOrFail(
    answer,
    `Your answer does not fit the required output schema: ${faults}. Answer again.`,
    'OUTPUT_SCHEMA_VIOLATION',
  )
}

const textCallNotice =
  'Your last answer was a tool call written as text. Call the tool through the tool interface, or answer in plain words.'

function repairOrFail(answer: Answer, notice: string, code: FailureCode): Judgement {
  if (answer.plan.repair)
    return { kind: 'fail', code, message: 'The model repeated a faulty answer after its one repair.' }
  const force = code === 'OUTPUT_SCHEMA_VIOLATION' && answer.offersFinalAnswer
  return {
    kind: 'repair',
    nextStep: { repair: true, notice, ...(force ? { toolChoice: { tool: finalAnswerName } } : {}) },
  }
}

/** True only for a JSON object that names one of the tools and has arguments. Narrow on purpose. */
function isTextEncodedCall(text: string, toolNames: string[]): boolean {
  const bare = text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, '$1')
  const value = bare.startsWith('{') ? tryParseJson(bare) : undefined
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return false
  return (
    toolNames.includes(value['name']) &&
    (isJsonObject(value['arguments']) || isJsonObject(value['parameters']))
  )
}
