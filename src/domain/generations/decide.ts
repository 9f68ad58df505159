/** Decides the next act of a generation from its state. Pure: no I/O and no clock. */
import type { AgentSettings, ToolChoiceRule } from '../agents/index.ts'
import { isOpen, type ToolCall } from '../tool-calls/index.ts'
import type { NextStep, StopReason } from './generation.ts'
import { startableNow, waitsForChild } from './nesting/deadline.ts'

export interface Situation {
  settings: AgentSettings
  stepCount: number
  cancelRequested: boolean
  /** Time of the database, in milliseconds since 1970. */
  now: number
  deadlineAt: number
  /** All calls of the generation, in step and call order. */
  calls: ToolCall[]
  nextStep: NextStep | null
  usedTokens: number
  /**
   * For each generation of the chain that has a token budget: tokens used by it and all its descendants, and the
   * limit.
   */
  chainBudgets: readonly { used: number; limit: number }[]
  usedTokensToday: number
  /** Calls that this worker has run, sent or queued since before it read the rest of this state. */
  inFlight: ReadonlySet<string>
  /** A pause holds the run: no model is called. Calls are held by themselves, when they would start. */
  paused: boolean
}

/** The rules of one model step. */
export interface StepPlan {
  stepIndex: number
  toolChoice: ToolChoiceRule
  /** Null: all tools of the agent. */
  activeToolIds: string[] | null
  notice: string | null
  repair: boolean
  final: 'MAX_STEPS' | null
}

export type Decision =
  | { do: 'cancel' }
  | { do: 'expire' }
  /** Run these server calls: they are due and this worker does not run them yet. */
  | { do: 'run'; calls: ToolCall[] }
  /** The generation is over, but these calls wait for child runs: cancel those first. */
  | { do: 'cancelChildren'; calls: ToolCall[] }
  /** Time out these client calls: their outputs are overdue. */
  | { do: 'timeOut'; calls: ToolCall[] }
  /**
   * Wait for the calls in flight, for a verdict, or at most `forMs` milliseconds. Null: for the calls in flight only.
   */
  | { do: 'waitForCalls'; forMs: number | null }
  /** Nothing can be done before an output or verdict arrives, or before this time in milliseconds since 1970. */
  | { do: 'wait'; until: number }
  | { do: 'complete'; stopReason: StopReason; truncated: boolean; stopCall: ToolCall | null }
  | { do: 'fail'; code: 'MODEL_BAD_REQUEST'; message: string }
  | { do: 'model'; plan: StepPlan }
  /** A model would be called, but a pause holds the run. */
  | { do: 'waitForResume' }

/** Consecutive steps in which every call was refused, after which the generation fails. */
const maxInvalidSteps = 3

/**
 * The next act. The rules in order: calls that were sent are allowed to finish, child runs end, cancellation,
 * deadline, open calls of the step (due ones run, late ones time out, the rest is waited for), stop conditions,
 * refused steps, budget, maximum of steps; else the model is called, unless a pause holds the run. Calls of a step do not wait for each other: an
 * approved one runs while others run or wait.
 */
export function decide(s: Situation): Decision {
  const calls = s.calls.filter((call) => call.stepIndex === s.stepCount)
  const open = calls.filter(isOpen)
  const { sent, due } = toRun(open, s.inFlight, s.settings, s.now)
  const over = s.cancelRequested || s.now >= s.deadlineAt
  // Calls that were sent are allowed to finish first: a cancel must not lose their outcome.
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
  const next = afterStep(s, calls)
  return next.do === 'model' && s.paused ? { do: 'waitForResume' } : next
}

/**
 * The calls that a worker would run now beside those in flight: those that a lost worker had sent, and those that may
 * start. Calls that a rate limit or a pause delays are not among them.
 */
export function toRun(
  open: ToolCall[],
  inFlight: ReadonlySet<string>,
  { parallelToolCalls }: AgentSettings,
  now: number,
): { sent: ToolCall[]; due: ToolCall[] } {
  const mine = open.filter((call) => !inFlight.has(call.id))
  const sent = mine.filter(
    (call) => call.status === 'EXECUTING' && call.childId === null && heldUntil(call) <= now,
  )
  const due = mine.filter((call) => isDue(call) && heldUntil(call) <= now)
  return { sent, due: startableNow(due, open, inFlight, parallelToolCalls) }
}

function isDue({ status }: ToolCall): boolean {
  return status === 'PROPOSED' || status === 'APPROVED'
}

/** Until when a rate limit or a pause delays the call, in milliseconds since 1970; 0: not delayed. */
function heldUntil(call: ToolCall): number {
  return call.notBefore?.getTime() ?? 0
}

/** When the output of a client call times out, in milliseconds since 1970; Infinity for any other call. */
function outputDeadline(call: ToolCall): number {
  return call.status === 'AWAITING_CLIENT' && call.deadlineAt ? call.deadlineAt.getTime() : Infinity
}

/**
 * The nearest time at which the generation's worker must act: a deadline, or the end of a delay. Approvals have
 * workers of their own, which wake the generation.
 */
export function nextDeadline(open: ToolCall[], deadlineAt: number): number {
  const held = open.filter((call) => call.notBefore).map(heldUntil)
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
  // A repair belongs to the step that it repairs and is not a step of its own.
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

/**
 * Whether the call passed its checks and the gate. A refused call does not stop the generation: the model gets its
 * error.
 */
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
 * Tool choice and tools of the next step. Settings that came with submitted outputs win, then the first matching step
 * rule, then the agent's settings. Submitted settings only restrict: they add no tool to the step and do not override
 * NONE. A tool that the agent forces is forced in the first step only.
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
