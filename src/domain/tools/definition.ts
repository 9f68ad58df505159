/** Validates the definition of a tool before it is saved; every fault has its path. */
import { invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { storeFields, type Changes, type GivenFields } from '../../core/field-list.ts'
import type { Services } from '../access/index.ts'
import { faultsOf } from './definition-faults.ts'
import { toolFields, type ToolDefinition } from './fields.ts'
import type { Tool } from './tool.ts'

/** What the validation needs: the platform actions, and the egress rules for URLs. */
export type Checker = Pick<Services, 'actions' | 'egress'>

/** The definition of a new tool. Throws INVALID with every fault. Reads no network and no database. */
export const newDefinition = (given: GivenFields<typeof toolFields>, services: Checker, projectId: string) =>
  checked(storeFields(toolFields, given), services, projectId, null)

/** The definition of a tool with what is given changed; null takes a field back to what it is when it is left out. */
export const changedDefinition = (given: Changes<typeof toolFields>, services: Checker, known: Tool) =>
  checked(storeFields(toolFields, given, known), services, known.projectId, known)

export function checked(
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
