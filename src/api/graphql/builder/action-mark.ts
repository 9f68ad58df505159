/** The mark of a field that is also a platform action: the selection of its result. The schema has everything else. */
import { z } from 'zod'
import { bareOf, namingOf } from '../../../core/shapes.ts'

export interface ActionMark {
  /** The selection set of the result as GraphQL text; for a mutation, that of its payload. */
  selection: string
  /** Arguments that may loosen a rule, a gate above all: a call with one of them is stopped by default. */
  loosening: readonly string[]
}

/** The selection set of each type in the result of an action. */
export const shown = {
  tool: `{ __typename id name title description version inputSchema createdAt updatedAt }`,
  agent: `{ id name instructions model version tools { id name } createdAt updatedAt }`,
  generation: `{ id status stopReason threadId stepCount output { text object } error { code message }
    requiredAction { toolCalls { id name arguments } } createdAt finishedAt }`,
  toolCall: `{ id name status arguments isError errorCode content structuredContent approval { id status expiresAt }
    createdAt settledAt }`,
  approval: `{ id status toolCall { id name } expiresAt createdAt }`,
}

/** The selection set of a payload: its fields, or those that are named, and of objects what `shown` says. */
export function selectionOf(payload: z.ZodObject, named: true | readonly string[] = true): string {
  const fields = Object.entries(payload.shape)
    .filter(([field]) => named === true || named.includes(field))
    .map(([field, shape]) => {
      const inner = innerOf(shape)
      const naming = namingOf(inner)
      if (naming?.as === 'object') return `${field} ${selectionOf(inner as z.ZodObject)}`
      if (naming?.as !== 'entity') return field
      const selection = shownEntities[naming.name]
      if (!selection) throw new Error(`Actions show nothing of a ${naming.name}: add it to action-mark.ts.`)
      return `${field} ${selection}`
    })
  return `{ ${fields.join(' ')} }`
}

/** The shape of the entries of a list, or of what may be null. */
function innerOf(shape: z.core.$ZodType): z.core.$ZodType {
  const bare = bareOf(shape)
  return bare instanceof z.ZodArray ? innerOf(bare.element) : bare
}

const shownEntities: Readonly<Record<string, string>> = {
  Tool: shown.tool,
  Agent: shown.agent,
  Generation: shown.generation,
  ToolCall: shown.toolCall,
  Approval: shown.approval,
  ItemError: '{ code message }',
}

/** The selection set of a connection. */
export const listOf = (selection: string) => `{ nodes ${selection} pageInfo { hasNextPage endCursor } }`

/** Marks a field as a platform action: `t.field({ …, ...actionMark(shown.tool) })`. */
export function actionMark(
  selection: string,
  loosening: readonly string[] = [],
): { extensions: { action: ActionMark } } {
  return { extensions: { action: { selection, loosening } } }
}
