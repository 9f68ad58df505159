/** Decides what happens next to a generation, from what is known. Pure: no I/O, no clock of its own. */
import type { AgentSettings, ToolChoiceRule } from '../agents/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import type { NextStep, StopReason } from './generation.ts'
import { startableNow, waitsForChild } from './nesting/limits.ts'

export interface Situation {
  settings: AgentSettings
  stepCount: number
  cancelRequested: boolean
  /** The database's time, in milliseconds since 1970. */
  now: number
  deadlineAt: number
  /** All calls of the generation, in step and call order. */
  calls: ToolCall[]
  nextStep: NextStep | null
  usedTokens: number
  /** For each generation of its chain that limits them: the tokens of that generation and all runs under it. */
  chainBudgets: readonly { used: number; limit: number }[]
  usedTokensToday: number
  /** Calls that this worker has run, sent or queued since before it read the others of these facts. */
  inFlight: ReadonlySet<string>
}

/** The rules of one model step. */
export interface StepPlan {
  stepIndex: number
  toolChoice: ToolChoiceRule
  /** Null means all tools of the agent. */
  activeToolIds: string[] | null
  notice: string | null
  repair: boolean
  final: 'MAX_STEPS' | null
}

export type Decision =
  | { do: 'cancel' }
  | { do: 'expire' }
  /** Server calls that are due and that this worker does not run yet. */
  | { do: 'run'; calls: ToolCall[] }
  /** It is over; the runs that these calls wait for end first. */
  | { do: 'cancelChildren'; calls: ToolCall[] }
  /** Client calls whose time is over. */
  | { do: 'timeOut'; calls: ToolCall[] }
  /** Calls are in hand; a decision may come first, or a deadline after so many milliseconds. Null: only they count. */
  | { do: 'waitForCalls'; forMs: number | null }
  /** Nothing can be done before an answer comes or this moment, in milliseconds since 1970. */
  | { do: 'wait'; until: number }
  | { do: 'complete'; stopReason: StopReason; truncated: boolean; stopCall: ToolCall | null }
  | { do: 'fail'; code: 'MODEL_BAD_REQUEST'; message: string }
  | { do: 'model'; plan: StepPlan }

/** Steps in a row in which every call was refused, before the generation fails. */
const maxInvalidSteps = 3

/**
 * The next act. Order of the rules: what was sent is heard out, runs under it end, cancel, deadline, open calls of the step (due ones run,
 * late ones are given up, the rest is waited for), stop conditions, refused steps, budget, maximum of steps, and else
 * the model. Nothing waits for anything else: an approved call runs while others of its step run or wait.
 */
export function decide(s: Situation): Decision {
  const calls = s.calls.filter((call) => call.stepIndex === s.stepCount)
  const open = calls.filter(isOpen)
  const { sent, due } = toRun(open, s.inFlight, s.settings, s.now)
  const over = s.cancelRequested || s.now >= s.deadlineAt
  // What was sent is heard out first: its outcome must not be lost to a cancel.
  if (sent.length > 0 || (due.length > 0 && !over))
    return { do: 'run', calls: over ? sent : [...sent, ...due] }
  if (over && s.inFlight.size > 0) return { do: 'waitForCalls', forMs: null }
  const runs = open.filter(waitsForChild)
  if (over && runs.length > 0) return { do: 'cancelChildren', calls: runs }
  if (over) return s.cancelRequested ? { do: 'cancel' } : { do: 'expire' }
  const late = open.filter((call) => outputDeadline(call) <= s.now)
  if (late.length > 0) return { do: 'timeOut', calls: late }
  if (s.inFlight.size > 0) return { do: 'waitForCalls', forMs: nextDeadline(open, s.deadlineAt) - s.now }
  if (open.length > 0) return { do: 'wait', until: nextDeadline(open, s.deadlineAt) }
  return afterStep(s, calls)
}

/**
 * The calls that a worker would run now beside those in hand: sent and left behind by another, and what may start. What
 * a limit holds back may not.
 */
export function toRun(
  open: ToolCall[],
  inFlight: ReadonlySet<string>,
  { parallelToolCalls }: AgentSettings,
  now: number,
): { sent: ToolCall[]; due: ToolCall[] } {
  const mine = open.filter((call) => !inFlight.has(call.id))
  const sent = mine.filter((call) => call.status === 'EXECUTING' && call.childId === null)
  const due = mine.filter((call) => isDue(call) && heldUntil(call) <= now)
  return { sent, due: startableNow(due, open, inFlight, parallelToolCalls) }
}

function isDue({ status }: ToolCall): boolean {
  return status === 'PROPOSED' || status === 'APPROVED'
}

/** Until when a limit holds the call back, in milliseconds since 1970; 0 when none does. */
function heldUntil(call: ToolCall): number {
  return call.notBefore?.getTime() ?? 0
}

/** When the output of a client call is given up, in milliseconds since 1970; never for any other call. */
function outputDeadline(call: ToolCall): number {
  return call.status === 'AWAITING_CLIENT' && call.deadlineAt ? call.deadlineAt.getTime() : Infinity
}

/** The nearest deadline that the generation itself keeps, or the end of a limit. Approvals keep their own, and wake it. */
export function nextDeadline(open: ToolCall[], deadlineAt: number): number {
  const held = open.filter((call) => isDue(call) && call.notBefore).map(heldUntil)
  return Math.min(deadlineAt, ...open.map(outputDeadline), ...held)
}

function afterStep(s: Situation, calls: ToolCall[]): Decision {
  if (overBudget(s)) return { do: 'complete', stopReason: 'BUDGET', truncated: true, stopCall: null }
  const stopCall = calls.find((call) => isStop(s.settings, call.runtimeName) && wasValid(call))
  if (stopCall) return { do: 'complete', stopReason: 'STOP_CONDITION', truncated: false, stopCall }
  if (refusedSteps(s) >= maxInvalidSteps) {
    const message = `The model called tools with invalid arguments in ${maxInvalidSteps} steps in a row.`
    return { do: 'fail', code: 'MODEL_BAD_REQUEST', message }
  }
  // A repair belongs to the step that it repairs.
  if (s.stepCount >= s.settings.maxSteps && !s.nextStep?.repair) {
    if (!s.settings.finalAnswerOnLimit)
      return { do: 'complete', stopReason: 'MAX_STEPS', truncated: true, stopCall: null }
    return {
      do: 'model',
      plan: { ...planOf(s), toolChoice: { mode: 'NONE' }, final: 'MAX_STEPS', notice: limitNotice },
    }
  }
  return { do: 'model', plan: planOf(s) }
}

const limitNotice = 'The limit of steps is reached. Give your final answer now, without calling tools.'

function overBudget(s: Situation): boolean {
  const { budget, maxOutputTokens } = s.settings
  const reserve = maxOutputTokens ?? 0
  const over = (used: number, limit: number | null) =>
    limit !== null && (used >= limit || used + reserve > limit)
  return (
    over(s.usedTokens, budget.tokensPerGeneration) ||
    over(s.usedTokensToday, budget.tokensPerDay) ||
    s.chainBudgets.some(({ used, limit }) => over(used, limit))
  )
}

export function isStop(settings: AgentSettings, runtimeName: string): boolean {
  return settings.stopConditions.some((stop) => stop.hasToolCall === runtimeName)
}

const refusals = new Set([
  'unknown_tool',
  'forbidden',
  'tool_changed',
  'tool_deleted',
  'nesting_too_deep',
  'too_many_runs',
])

/** Whether the call passed its checks and the gate: a refused one is no stop, the model gets the error instead. */
function wasValid(call: ToolCall): boolean {
  const refused = ['INVALID', 'REJECTED', 'EXPIRED'].includes(call.status)
  return !refused && !refusals.has(call.errorCode ?? '')
}

function refusedSteps(s: Situation): number {
  let refused = 0
  for (let step = s.stepCount; step > 0; step--, refused++) {
    const calls = s.calls.filter((call) => call.stepIndex === step)
    if (calls.length === 0 || calls.some((call) => call.status !== 'INVALID')) break
  }
  return refused
}

/**
 * Tool choice and tools of the coming step. What came with submitted outputs wins, then the first step rule that fits,
 * then the agent's own. What came with outputs only narrows: it brings in no tool that the step would not have, and takes
 * back no NONE. A tool forced by the agent is forced once, in the first step.
 */
export function planOf(s: Pick<Situation, 'settings' | 'stepCount' | 'nextStep'>): StepPlan {
  const stepIndex = s.stepCount + 1
  const rules = s.settings.stepRules.filter((rule) => appliesTo(rule, stepIndex))
  const own = s.settings.toolChoice
  const choice =
    rules.find((rule) => rule.toolChoice !== null)?.toolChoice ??
    ('tool' in own && stepIndex > 1 ? { mode: 'AUTO' as const } : own)
  const active = rules.find((rule) => rule.activeToolIds !== null)?.activeToolIds ?? s.settings.activeToolIds
  const isNone = 'mode' in choice && choice.mode === 'NONE'
  return {
    stepIndex,
    toolChoice: isNone ? choice : (s.nextStep?.toolChoice ?? choice),
    activeToolIds:
      s.nextStep?.activeToolIds?.filter((id) => active === null || active.includes(id)) ?? active,
    notice: s.nextStep?.notice ?? null,
    repair: s.nextStep?.repair ?? false,
    final: null,
  }
}

function appliesTo(rule: AgentSettings['stepRules'][number], stepIndex: number): boolean {
  if (rule.step !== null) return rule.step === stepIndex
  return stepIndex >= (rule.fromStep ?? 1) && stepIndex <= (rule.toStep ?? Infinity)
}
