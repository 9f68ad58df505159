/**
 * The overrides of a run: they can only tighten the agent's settings (decision 19), because the permission to start an
 * agent is not the permission to change it. Pure.
 */
import { invalid, type Issue } from '../../core/errors.ts'
import { hashJson, jsonTooBig } from '../../core/json.ts'
import {
  boundIds,
  changedSettings,
  givenOverrides,
  type AgentSettings,
  type SettingsOverrides,
} from './agent.ts'
import type { OwnSettings } from './fields.ts'
import type { Budget, StepRule } from './setting-shapes.ts'

type Overrides = ReturnType<typeof givenOverrides>

/** The limits of an outputSchema that a run sets. */
const schemaLimits = { maxBytes: 64 * 1024, maxDepth: 32 }
const maxInstructions = 100_000

/**
 * Returns an agent's settings for one run, validated as a whole. Overrides narrow them: limits are at most the agent's,
 * tools are some of its active ones, instructions are appended to its own, and stop conditions are added. An empty list or
 * text adds nothing and takes nothing away, except that `activeToolIds: []` leaves no tool. Throws INVALID with every
 * override that would loosen a setting.
 */
export function withOverrides(
  own: AgentSettings,
  input: SettingsOverrides,
  projectId: string,
): AgentSettings {
  const given = givenOverrides(input)
  if (Object.keys(given).length === 0) return own
  const wanted = changedSettings(given, own, projectId)
  const made: AgentSettings = {
    ...own,
    ...wanted,
    instructions: joined(own.instructions, wanted.instructions),
    stopConditions: [
      ...new Map(
        [...own.stopConditions, ...wanted.stopConditions].map((one) => [one.hasToolCall, one]),
      ).values(),
    ],
    budget: tighterBudget(own.budget, wanted.budget),
    stepRules: narrowed(
      own.stepRules.length > 0 ? own.stepRules : wanted.stepRules,
      given.activeToolIds ?? null,
    ),
  }
  const issues = [
    ...limitFaults(own, wanted),
    ...toolFaults(own, wanted, given),
    ...outputFaults(own, wanted),
  ]
  if ((made.instructions?.length ?? 0) > maxInstructions)
    issues.push(
      fault(
        ['instructions'],
        `must have at most ${maxInstructions} characters together with those of the agent`,
      ),
    )
  if (issues.length > 0) throw invalid(issues)
  return made
}

function fault(path: string[], message: string): Issue {
  return { path: ['input', ...path], message }
}

/** The agent's instructions come first and complete. */
function joined(own: string | null, given: string | null): string | null {
  return own && given && own !== given ? `${own}\n\n${given}` : given || own
}

function tighterBudget(own: Budget, given: Budget): Budget {
  return {
    tokensPerGeneration: given.tokensPerGeneration ?? own.tokensPerGeneration,
    tokensPerDay: given.tokensPerDay ?? own.tokensPerDay,
  }
}

const limits = ['maxSteps', 'timeoutMs', 'clientTimeoutMs', 'maxOutputTokens', 'maxContextMessages'] as const

function limitFaults(own: AgentSettings, wanted: OwnSettings): Issue[] {
  const over = (path: string[], most: number | null, value: number | null) =>
    most !== null && value !== null && value > most
      ? [fault(path, `must be at most ${most}, the agent's own limit`)]
      : []
  const budget = ['tokensPerGeneration', 'tokensPerDay'] as const
  return [
    ...limits.flatMap((name) => over([name], own[name], wanted[name])),
    ...budget.flatMap((name) => over(['budget', name], own.budget[name], wanted.budget[name])),
    ...(wanted.finalAnswerOnLimit && !own.finalAnswerOnLimit
      ? [fault(['finalAnswerOnLimit'], 'must be false, as in the agent')]
      : []),
    ...(wanted.parallelToolCalls && !own.parallelToolCalls
      ? [fault(['parallelToolCalls'], 'must be false, as in the agent')]
      : []),
  ]
}

/** Faults of tools that are not active in the agent, and of rules that would replace the agent's. */
function toolFaults(own: AgentSettings, wanted: OwnSettings, given: Overrides): Issue[] {
  const active = new Set(own.activeToolIds ?? boundIds(own))
  const beyond = (ids: string[] | null | undefined, path: string[]) =>
    (ids ?? []).flatMap((id, i) =>
      active.has(id) ? [] : [fault([...path, String(i)], 'is not active in the agent')],
    )
  const isNone = (choice: AgentSettings['toolChoice'] | null) =>
    choice !== null && 'mode' in choice && choice.mode === 'NONE'
  const closed = isNone(own.toolChoice)
  const rules = given.stepRules ? wanted.stepRules : []
  return [
    ...beyond(given.activeToolIds, ['activeToolIds']),
    ...rules.flatMap((rule, i) => beyond(rule.activeToolIds, ['stepRules', String(i), 'activeToolIds'])),
    ...(rules.length > 0 && own.stepRules.length > 0
      ? [fault(['stepRules'], 'cannot replace those of the agent; leave it out')]
      : []),
    ...(closed && !isNone(wanted.toolChoice) ? [fault(['toolChoice'], 'must be NONE, as in the agent')] : []),
    ...rules.flatMap((rule, i) =>
      closed && rule.toolChoice !== null && !isNone(rule.toolChoice)
        ? [fault(['stepRules', String(i), 'toolChoice'], 'must be NONE, as in the agent')]
        : [],
    ),
  ]
}

/** Removes from the agent's step rules the tools that are not active in the run. */
function narrowed(rules: StepRule[], active: string[] | null): StepRule[] {
  if (active === null) return rules
  return rules.map((rule) =>
    rule.activeToolIds === null
      ? rule
      : { ...rule, activeToolIds: rule.activeToolIds.filter((id) => active.includes(id)) },
  )
}

function outputFaults(own: AgentSettings, { outputSchema }: OwnSettings): Issue[] {
  if (outputSchema === null || own.outputSchema === outputSchema) return []
  if (own.outputSchema !== null && hashJson(own.outputSchema) !== hashJson(outputSchema))
    return [fault(['outputSchema'], 'cannot replace that of the agent; leave it out')]
  const tooBig = jsonTooBig(outputSchema, schemaLimits)
  return tooBig ? [fault(['outputSchema'], tooBig)] : []
}
