/** The settings of an agent: model, instructions, tools and the rules of its loop. Pure. */
import * as view from '../../core/view.ts'
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { invalid, type Issue } from '../../core/errors.ts'
import { compileSchema } from '../../core/json-schema.ts'
import { completeFields, storeFields, fieldShapes, type Changes } from '../../core/field-list.ts'
import { entity, part, idOf } from '../../core/shapes.ts'
import { gateFaults, type GatePolicy } from '../gates/index.ts'
import { titleFaults } from '../tools/index.ts'
import { agentFields, runFields, type OwnSettings } from './fields.ts'

/** A client tool that belongs to one run. */
export const runTool = part('RunTool', 'A client tool that a generation was started with.', {
  name: view.text('The name that the model sees.'),
  description: view.text('What the tool does, for the model; null when it was not given.').nullable(),
  inputSchema: view.jsonSchema('The schema of the arguments.'),
})
export interface RunTool extends z.output<typeof runTool> {
  id: string
}

/** The settings of a run. A generation keeps its own copy from its start, with the overrides of that run. */
export interface AgentSettings extends OwnSettings {
  /** The gates of the parent runs' agents; set only in the settings of a child run. */
  inheritedGates?: GatePolicy[]
  /** The client tools that a run was started with; set only in the settings of that run. Its child runs have none. */
  clientTools?: RunTool[]
}

export const agentShape = part(
  'Agent',
  'An agent: a model with instructions, tools and the settings of its loop.',
  {
    id: idOf('agent'),
    name: view.text('The name of the agent, unique in the project.'),
    version: view.int('The version of the agent; every update increments it.'),
    createdAt: view.date('When the agent was created.'),
    updatedAt: view.date('When the agent was last changed.'),
  },
)
export interface Agent extends AgentSettings, z.output<typeof agentShape> {
  projectId: string
}

export const Agent = entity<Agent>()('Agent')

const settings = z.object(fieldShapes(agentFields))
const overrides = z.object(fieldShapes(runFields))
export type SettingsOverrides = z.input<typeof overrides>
export type GivenSettings = Changes<typeof agentFields>

/** Settings as they were stored, by whichever release. */
export const settingsOf = (stored: unknown) => completeFields(agentFields, stored as object)

/**
 * Returns the settings that an input describes, with defaults. Throws INVALID with every fault that needs no I/O to
 * find.
 */
export const checkSettings = (input: z.input<typeof settings>, projectId: string): OwnSettings =>
  newSettings(check(settings, input), projectId)

/** The same for an input whose shape was checked. */
export const newSettings = (given: z.output<typeof settings>, projectId: string): OwnSettings =>
  checked(storeFields(agentFields, given), projectId)

/** Settings with what is given changed; null takes a setting back to its default. */
export const changedSettings = (given: GivenSettings, before: OwnSettings, projectId: string): OwnSettings =>
  checked(storeFields(agentFields, given, before), projectId)

function checked(made: OwnSettings, projectId: string): OwnSettings {
  const issues = faultsOf(made, projectId)
  if (issues.length > 0) throw invalid(issues)
  return made
}

/** The settings that an input overrides. `null` counts as absent. */
export function givenOverrides(input: SettingsOverrides): Partial<z.output<typeof overrides>> {
  const set = Object.entries(check(overrides, input)).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return Object.fromEntries(set)
}

/** The ids that `activeToolIds` may contain: the agent's tools and the agents that it may call. */
export function boundIds({ toolIds: tools, agentIds: agents = [] }: AgentSettings): string[] {
  return [...tools, ...agents]
}

/**
 * The gates for all calls of a run, in addition to those of the tools: its agent's, and those of the parent runs'
 * agents.
 */
export function gatesOf({ gate, inheritedGates = [] }: AgentSettings): GatePolicy[] {
  return gate ? [gate, ...inheritedGates] : inheritedGates
}

function faultsOf(made: OwnSettings, projectId: string): Issue[] {
  const root = ['input', 'gate']
  const issues: Issue[] = [...gateFaults(made.gate, projectId, root), ...titleFaults(made.gate, null, root)]
  const bound = new Set(boundIds(made))
  const inToolIds = (ids: string[] | null, path: string[]) =>
    ids?.forEach((id, i) => {
      if (!bound.has(id))
        issues.push({ path: [...path, String(i)], message: 'is not one of toolIds or agentIds' })
    })
  inToolIds(made.activeToolIds, ['input', 'activeToolIds'])
  made.stepRules.forEach((rule, i) =>
    inToolIds(rule.activeToolIds, ['input', 'stepRules', String(i), 'activeToolIds']),
  )
  if (made.outputSchema) {
    const compiled = compileSchema(made.outputSchema, projectId, ['input', 'outputSchema'])
    if (!compiled.ok) issues.push(compiled.issue)
  }
  if ('mode' in made.toolChoice && made.toolChoice.mode === 'REQUIRED' && made.stopConditions.length === 0)
    issues.push({
      path: ['input', 'toolChoice', 'mode'],
      message: 'REQUIRED in every step never ends the loop: add a stop condition, or use a step rule',
    })
  return issues
}
