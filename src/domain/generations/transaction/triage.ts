/**
 * Triages the calls of a model response: which run here, which the client runs, which the gate stops, which are
 * refused. Pure.
 */
import { numberIssue } from '../../../core/check.ts'
import type { Issue } from '../../../core/errors.ts'
import { errorResult, textResult, type ToolResult } from '../../../core/content.ts'
import type { JsonObject } from '../../../core/json.ts'
import { newId } from '../../../core/ids.ts'
import { shortText } from '../../../core/text.ts'
import type { GrantAnswer } from '../../approvals/index.ts'
import type { Requirement } from '../../gates/index.ts'
import {
  asksAgent,
  codeOf,
  maskedPaths,
  maskedText,
  prepareCall,
  searchResult,
  type Callable,
} from '../../tools/index.ts'
import type { ProposedCall } from '../../tool-calls/index.ts'
import { type ToolCallPart, readCallInput } from '../../models/index.ts'
import { nestingLimits } from '../nesting/deadline.ts'

/** One call after triage, ready to be committed. */
export interface TriagedCall {
  id: string
  providerCallId: string
  runtimeName: string
  tool: Callable | null
  /**
   * PROPOSED (runs here), AWAITING_CLIENT, AWAITING_APPROVAL, or settled as INVALID, ERRORED, SKIPPED or REJECTED; a search of
   * tools as SUCCEEDED.
   */
  status: ProposedCall['status']
  arguments: JsonObject | null
  rawArguments: string | null
  result: ToolResult | null
  errorCode: string | null
  /** Preset keys that the model sent; they were dropped. */
  dropped: string[]
  masked: string[][] | null
  /** What the gate requires, with the merged arguments that it evaluated; null when the call may pass. */
  stopped: { requirement: Requirement; merged: JsonObject } | null
  /** The grant that let the call pass, or refused it. */
  grantId: string | null
}

export interface TriageRules {
  /** The tools that may be called in this step, by runtime name. */
  active: Map<string, Callable>
  /** The name of the search among them; null: all were sent. */
  search: string | null
  projectId: string
  /** Whether the requester of the generation may call that tool. */
  mayCall(tool: Callable): boolean
  /** The chain of runs has its maximum length. */
  atDepthLimit: boolean
  /** What the gate requires of a call with these merged arguments; null when it may pass. */
  gate(tool: Callable, merged: JsonObject): Requirement | null
  isStop(runtimeName: string): boolean
}

const tooDeep = `The maximum of ${nestingLimits.chain} nested runs is reached: this run cannot ask another agent. Answer without one.`

/** Maximum number of tool names in the error for an unknown tool. */
const maxNamesTold = 20

/** Triages each call by itself, in order. */
export function triage(parts: ToolCallPart[], rules: TriageRules): TriagedCall[] {
  return parts.map((part) => triageCall(part, rules))
}

/** A stopped call after a grant has let it pass, or refused it. */
export function withAnswer(call: TriagedCall, { grantId, refused }: GrantAnswer): TriagedCall {
  if (!refused) return { ...call, grantId, stopped: null, status: runnable(call.tool!) }
  const settled = { status: 'REJECTED', result: refused, errorCode: codeOf(refused) } as const
  return { ...call, ...settled, grantId, stopped: null }
}

function runnable(tool: Callable): ProposedCall['status'] {
  return tool.kind === 'client' ? 'AWAITING_CLIENT' : 'PROPOSED'
}

/** If a stop tool is not held back by the gate, ends the step: client calls are skipped instead of sent. */
export function endAtStop(calls: TriagedCall[], rules: Pick<TriageRules, 'isStop'>): TriagedCall[] {
  const stopped = calls.some((call) => rules.isStop(call.runtimeName) && isRunnable(call))
  return stopped ? calls.map(skipClientCall) : calls
}

function isRunnable(call: TriagedCall): boolean {
  return call.status === 'PROPOSED' || call.status === 'AWAITING_CLIENT'
}

function triageCall(part: ToolCallPart, rules: TriageRules): TriagedCall {
  const tool = rules.active.get(part.name) ?? null
  const base = {
    id: newId('toolCall'),
    providerCallId: part.providerCallId,
    runtimeName: shortText(part.name, 200),
    tool,
    arguments: null,
    rawArguments: null,
    dropped: [],
    masked: null,
    stopped: null,
    grantId: null,
  }
  const value = readCallInput(part.input)
  const refuse = (code: string, message: string) => ({ ...base, ...refusal('ERRORED', code, message) })
  if (part.name === rules.search) return { ...base, ...searchedBy(part, value, rules) }
  if (!tool) {
    const names = [...(rules.search ? [rules.search] : []), ...rules.active.keys()].slice(0, maxNamesTold)
    return refuse('unknown_tool', `There is no tool of that name. Available: ${names.join(', ') || 'none'}.`)
  }
  const prepared = value === null ? null : prepareCall(tool, value)
  if (!prepared?.ok) return { ...base, ...argumentsRefusal(part, tool, prepared) }
  const { arguments: own, merged, dropped } = prepared
  const given = { arguments: own, dropped, masked: maskedPaths(tool, own) }
  if (!rules.mayCall(tool))
    return {
      ...refuse('forbidden', 'The requester of this generation may not call this tool.'),
      ...given,
    }
  if (!mayAsk(tool, rules)) return { ...refuse('nesting_too_deep', tooDeep), ...given }
  const requirement = rules.gate(tool, merged)
  const stopped = requirement ? { requirement, merged } : null
  const status = stopped ? 'AWAITING_APPROVAL' : runnable(tool)
  return { ...base, ...given, stopped, status, result: null, errorCode: null }
}

const mayAsk = (tool: Callable, { atDepthLimit }: TriageRules) => !(atDepthLimit && asksAgent(tool))

/** A search of tools, settled: it finds what the requester may call. */
function searchedBy(part: ToolCallPart, value: JsonObject | null, rules: TriageRules) {
  const tools = [...rules.active.values()].filter((tool) => rules.mayCall(tool) && mayAsk(tool, rules))
  const search = value === null ? null : searchResult(tools, value, rules.projectId)
  if (!search?.ok) return argumentsRefusal(part, null, search)
  return { arguments: value, status: 'SUCCEEDED' as const, result: search.result, errorCode: null }
}

function refusal<Status extends 'ERRORED' | 'INVALID'>(status: Status, code: string, message: string) {
  return { status, errorCode: code, result: errorResult(code, message) }
}

function argumentsRefusal(
  { input }: ToolCallPart,
  tool: Callable | null,
  fault: { issues: Issue[]; dropped?: string[] } | null,
) {
  const unreadable = numberIssue(input, ['arguments']) ?? {
    path: ['arguments'],
    message: 'must be a JSON object',
  }
  const issues = fault?.issues ?? [unreadable]
  const where = issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')
  return {
    ...refusal('INVALID', 'invalid_arguments', `The arguments do not fit the tool's schema: ${where}`),
    rawArguments: shortText(tool ? maskedText(tool, input) : input, 20_000),
    dropped: fault?.dropped ?? [],
  }
}

/**
 * A stop tool's arguments are the final answer, so the client is not asked for an output; the history still needs a
 * result.
 */
function skipClientCall(call: TriagedCall): TriagedCall {
  if (call.status !== 'AWAITING_CLIENT') return call
  return { ...call, status: 'SKIPPED', result: textResult('The generation ended with this step.') }
}
