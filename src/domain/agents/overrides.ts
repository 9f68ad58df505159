/**
 * What a run gives for itself: it can only tighten what its agent says (decision 19). Whoever may start an agent is not
 * thereby somebody who may change it. Pure.
 */
import { invalid, type Issue } from '../../core/errors.ts'
import { hashJson, jsonTooBig } from '../../core/json.ts'
import {
  boundIds,
  checkSettings,
  givenOverrides,
  type AgentSettings,
  type Budget,
  type SettingsOverrides,
  type StepRule,
} from './agent.ts'

/** An outputSchema of a run is no larger and no deeper. */
const schemaLimits = { maxBytes: 64 * 1024, maxDepth: 32 }
const maxInstructions = 100_000

/**
 * An agent's settings for one run, checked as a whole. What the run gives narrows them: limits are at most the agent's,
 * tools are some of its active ones, instructions come behind its own and stop conditions beside them. INVALID names
 * everything that would loosen something.
 */
export function withOverrides(own: AgentSettings, input: SettingsOverrides): AgentSettings {
  const given = givenOverrides(input)
  if (Object.keys(given).length === 0) return own
  const wanted = checkSettings({ ...own, ...given })
  const made: AgentSettings = {
    ...wanted,
    instructions: joined(own.instructions, wanted.instructions),
    stopConditions: [
      ...new Map(
        [...own.stopConditions, ...wanted.stopConditions].map((one) => [one.hasToolCall, one]),
      ).values(),
    ],
    budget: tighterBudget(own.budget, wanted.budget),
    stepRules: given.stepRules ? wanted.stepRules : narrowed(own.stepRules, given.activeToolIds ?? null),
  }
  const issues = [
    ...looserLimits(own, wanted),
    ...looserTools(own, wanted, given),
    ...looserAnswer(own, wanted),
  ]
  if ((made.instructions?.length ?? 0) > maxInstructions)
    issues.push(
      fault(['instructions'], `must leave room for those of the agent: ${maxInstructions} characters in all`),
    )
  if (issues.length > 0) throw invalid(issues)
  return made
}

function fault(path: string[], message: string): Issue {
  return { path: ['input', ...path], message }
}

/** The agent's own words stand first and whole. */
function joined(own: string | null, given: string | null): string | null {
  return own && given && own !== given ? `${own}\n\n${given}` : (given ?? own)
}

function tighterBudget(own: Budget, given: Budget): Budget {
  return {
    tokensPerGeneration: given.tokensPerGeneration ?? own.tokensPerGeneration,
    tokensPerDay: given.tokensPerDay ?? own.tokensPerDay,
  }
}

const limits = ['maxSteps', 'timeoutMs', 'clientTimeoutMs', 'maxOutputTokens', 'maxContextMessages'] as const

function looserLimits(own: AgentSettings, wanted: AgentSettings): Issue[] {
  const over = (path: string[], most: number | null, value: number | null) =>
    most !== null && value !== null && value > most
      ? [fault(path, `must be at most ${most}, as the agent says`)]
      : []
  const budget = ['tokensPerGeneration', 'tokensPerDay'] as const
  return [
    ...limits.flatMap((name) => over([name], own[name], wanted[name])),
    ...budget.flatMap((name) => over(['budget', name], own.budget[name], wanted.budget[name])),
    ...(wanted.finalAnswerOnLimit && !own.finalAnswerOnLimit
      ? [fault(['finalAnswerOnLimit'], 'must be false, as the agent says')]
      : []),
    ...(wanted.parallelToolCalls && !own.parallelToolCalls
      ? [fault(['parallelToolCalls'], 'must be false, as the agent says')]
      : []),
  ]
}

/** Tools that the agent does not have active, and rules that the run would put in place of the agent's. */
function looserTools(own: AgentSettings, wanted: AgentSettings, given: Partial<AgentSettings>): Issue[] {
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
      ? [fault(['stepRules'], 'cannot take the place of those of the agent; leave it out')]
      : []),
    ...(closed && !isNone(wanted.toolChoice)
      ? [fault(['toolChoice'], 'must be NONE, as the agent says')]
      : []),
    ...rules.flatMap((rule, i) =>
      closed && rule.toolChoice !== null && !isNone(rule.toolChoice)
        ? [fault(['stepRules', String(i), 'toolChoice'], 'must be NONE, as the agent says')]
        : [],
    ),
  ]
}

/** Of the agent's step rules, no more tools than the run has active. */
function narrowed(rules: StepRule[], active: string[] | null): StepRule[] {
  if (active === null) return rules
  return rules.map((rule) =>
    rule.activeToolIds === null
      ? rule
      : { ...rule, activeToolIds: rule.activeToolIds.filter((id) => active.includes(id)) },
  )
}

function looserAnswer(own: AgentSettings, { outputSchema }: AgentSettings): Issue[] {
  if (outputSchema === null || own.outputSchema === outputSchema) return []
  if (own.outputSchema !== null && hashJson(own.outputSchema) !== hashJson(outputSchema))
    return [fault(['outputSchema'], 'cannot take the place of that of the agent; leave it out')]
  const tooBig = jsonTooBig(outputSchema, schemaLimits)
  return tooBig ? [fault(['outputSchema'], tooBig)] : []
}
