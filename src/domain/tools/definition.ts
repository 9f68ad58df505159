/** Validates the definition of a tool by its kind before it is saved; every fault has its path. */
import { type Issue, invalid } from '../../core/errors.ts'
import { type JsonObject, writeJson } from '../../core/json.ts'
import { compileSchema, judge } from '../../core/json-schema.ts'
import type { PlatformActions, Services } from '../access/index.ts'
import { checkHttpConfig, placeholderFaults } from './kinds/http.ts'
import { hidePresets, presetsFor } from './presets.ts'
import { namesArgument } from './schema/arguments.ts'
import { gateFaults } from '../gates/index.ts'
import { upstreamFaults } from '../upstream/index.ts'
import { actionGatePath, titleFaults } from './gates.ts'
import { type ToolDefinition, toolFields } from './fields.ts'
import { hasActions } from './tool-kinds.ts'
import type { OwnedDefinition, Tool } from './callable.ts'
import { storeFields, type Changes, type GivenFields } from '../../core/field-list.ts'

/** Every fault of a definition that can be found without I/O, with its path. `saved` is what it replaces. */
function faultsOf(
  definition: ToolDefinition,
  { actions, ...services }: Checker,
  projectId: string,
  saved: ToolDefinition | null,
): Issue[] {
  return [
    ...gatesFaults(definition, projectId),
    ...kindFaults(definition, actions, projectId),
    ...(definition.http ? httpFaults(definition, saved) : []),
    ...(definition.mcp ? under(['config', 'mcp'], upstreamFaults(services, definition.mcp)) : []),
  ]
}

const under = (path: string[], issues: Issue[]): Issue[] =>
  issues.map((issue) => ({ ...issue, path: ['input', ...path, ...issue.path] }))

function httpFaults({ http, inputSchema, presetParameters }: ToolDefinition, saved: ToolDefinition | null) {
  const own = checkHttpConfig(http!)
  const found = own.some(({ path }) => path[0] === 'url')
    ? own
    : [...own, ...placeholderFaults(http!.url, inputSchema, presetParameters)]
  const was = saved?.http ? placeholderFaults(saved.http.url, saved.inputSchema, saved.presetParameters) : []
  // Tools were saved before placeholders were checked; their gates and words must still be changed.
  const isOld = (issue: Issue) => was.some(({ message }) => message === issue.message)
  return under(
    ['config', 'http'],
    found.filter((issue) => !isOld(issue)),
  )
}

function gatesFaults({ kind, gate, mcp, inputSchema }: ToolDefinition, projectId: string): Issue[] {
  const root = ['input', 'gate']
  return [
    ...gateFaults(gate, projectId, root),
    ...titleFaults(gate, hasActions(kind) ? null : { inputSchema, projectId }, root),
    ...Object.values(mcp?.gates ?? {}).flatMap((one, i) => gateFaults(one, projectId, actionGatePath(i))),
  ]
}

function kindFaults(definition: ToolDefinition, actions: PlatformActions, projectId: string): Issue[] {
  const { kind, outputSchema } = definition
  if (!hasActions(kind)) return ownFaults(definition, projectId)
  if (outputSchema) {
    const message = 'is for http and client tools; each action of this tool has its own: leave it out'
    return [{ path: ['input', 'outputSchema'], message }]
  }
  return definition.platform
    ? platformFaults({ ...definition, projectId }, definition.platform.actions, actions)
    : []
}

/** Faults of an http or client tool, whose definition has its own schema. */
function ownFaults(definition: ToolDefinition, projectId: string): Issue[] {
  const root = ['input', 'config', definition.kind]
  const schemaPath = [...root, 'inputSchema']
  const issues: Issue[] = []
  const schema = compileSchema(definition.inputSchema, projectId, schemaPath)
  if (!schema.ok) issues.push(schema.issue)
  else if (definition.inputSchema['type'] !== undefined && definition.inputSchema['type'] !== 'object')
    issues.push({
      path: [...schemaPath, 'type'],
      message: 'must be "object": the arguments of a tool are an object',
    })
  else if (!hidePresets(definition.inputSchema, definition.presetParameters, projectId))
    issues.push({
      path: schemaPath,
      message: 'has too many references to compute it without the presets; simplify it',
    })
  else issues.push(...presetFaults({ ...definition, projectId }))
  if (definition.outputSchema) {
    const output = compileSchema(definition.outputSchema, projectId, ['input', 'outputSchema'])
    if (!output.ok) issues.push(output.issue)
  }
  return issues
}

/** Each action must exist, and each preset must be an argument of one of them with a value that its schema allows. */
function platformFaults(
  definition: ToolDefinition & OwnedDefinition,
  names: string[],
  actions: PlatformActions,
): Issue[] {
  const known = names.map((name) => actions.find(name))
  const issues = names.flatMap((name, i) =>
    known[i]
      ? []
      : [
          {
            path: ['input', 'config', 'platform', 'actions', String(i)],
            message: `${writeJson(name)} is not a platform action`,
          },
        ],
  )
  if (issues.length > 0) return issues
  const unknown = Object.keys(definition.presetParameters).filter(
    (key) => !known.some((action) => namesArgument(action!.inputSchema, key)),
  )
  return [
    ...unknown.map((key) => ({
      path: ['input', 'presetParameters', key],
      message: 'is not an argument of any of the actions',
    })),
    ...known.flatMap((action) => shapeFaults(definition, action!.inputSchema)),
  ]
}

function shapeFaults(definition: OwnedDefinition, inputSchema: JsonObject): Issue[] {
  const { projectId } = definition
  const compiled = compileSchema(inputSchema, projectId)
  const presetParameters = presetsFor(inputSchema, definition.presetParameters)
  return compiled.ok ? presetFaults({ inputSchema, presetParameters, projectId }) : [compiled.issue]
}

/** A preset that its schema refuses would fail every call, so it is refused at save. */
function presetFaults({
  inputSchema,
  presetParameters,
  projectId,
}: Pick<OwnedDefinition, 'inputSchema' | 'presetParameters' | 'projectId'>): Issue[] {
  const keys = Object.keys(presetParameters)
  if (keys.length === 0) return []
  const root = ['input', 'presetParameters']
  const judged = judge(inputSchema, projectId, presetParameters)
  if (judged.fits === 'YES') return []
  if (judged.fits === 'CANNOT_TELL') return judged.issues.map((issue) => ({ ...issue, path: root }))
  return judged.issues
    .filter(
      (issue) =>
        issue.path.length > 0 &&
        keys.includes(issue.path[0]!) &&
        !(issue.path.length === 1 && issue.message === 'is required'),
    )
    .map((issue) => ({ ...issue, path: [...root, ...issue.path] }))
}

/** What the validation needs: the platform actions, and the egress rules for URLs. */
export type Checker = Pick<Services, 'actions' | 'egress' | 'identity'>

/** The definition of a new tool. Throws INVALID with every fault. Reads no network and no database. */
export const newDefinition = (given: GivenFields<typeof toolFields>, services: Checker, projectId: string) =>
  checkDefinition(storeFields(toolFields, given), services, projectId, null)

/** The definition of a tool with what is given changed; null takes a field back to what it is when it is left out. */
export const changedDefinition = (given: Changes<typeof toolFields>, services: Checker, known: Tool) =>
  checkDefinition(storeFields(toolFields, given, known), services, known.projectId, known)

export function checkDefinition(
  definition: ToolDefinition,
  services: Checker,
  projectId: string,
  saved: ToolDefinition | null,
): ToolDefinition {
  const issues = faultsOf(definition, services, projectId, saved)
  if (issues.length > 0) throw invalid(issues)
  return definition
}

/** The definition of a client tool that came with a run. */
export const clientDefinition = (name: string, description: string | null, inputSchema: JsonObject) =>
  storeFields(toolFields, { name, description, config: { client: { inputSchema } } })
