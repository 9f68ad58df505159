/** The inputs that narrow lists: what they have in common, and how a filter joins the older arguments of its list. */
import { invalidAt } from '../../../core/errors.ts'
import { isGiven } from './connections.ts'
import type { ToolCallStatus } from '../../../domain/tool-calls/index.ts'
import type { BuilderTypes, EnumOf } from './builder.ts'
import type { Refs } from './refs.ts'

type InputFields = PothosSchemaTypes.InputFieldBuilder<BuilderTypes, 'InputObject'>

/** The fields of a range of time. `what` are the entries of the list. */
export function createdFields(t: InputFields, what: string) {
  return {
    createdAfter: t.field({
      type: 'DateTime',
      description: `Only ${what} that were created at this time or later.`,
    }),
    createdBefore: t.field({
      type: 'DateTime',
      description: `Only ${what} that were created before this time.`,
    }),
  }
}

/** The description of the argument of lists that are searched by name. */
export function nameDescription(what: string): string {
  return `Only ${what} whose name contains this text, upper and lower case alike, 1 to 100 characters.`
}

/** The filter with the arguments of the list that were there before it. INVALID when a field is given in both. */
export function joined<Filter extends object>(
  filter: Filter | null | undefined,
  given: { [Name in keyof Filter]?: Filter[Name] | null | undefined },
): Filter {
  const made: Record<string, unknown> = { ...filter }
  for (const [name, value] of Object.entries(given)) {
    if (!isGiven(value)) continue
    if (isGiven(made[name]))
      throw invalidAt(['filter', name], 'give the argument of the list or the field of filter, not both')
    made[name] = value
  }
  return made as Filter
}

/** The input that narrows lists of tool calls. */
export function toolCallFilter({ builder }: Refs, Status: EnumOf<ToolCallStatus>) {
  return builder.inputType('ToolCallFilter', {
    description: 'Which tool calls of a project are listed: those that match all given fields.',
    fields: (t) => ({
      statuses: t.field({
        type: [Status],
        description: 'Only calls with one of these statuses. Default: any status.',
      }),
      toolId: t.id({ description: 'Only calls of the tool with this id.' }),
      generationId: t.id({ description: 'Only calls of the generation with this id.' }),
      agentId: t.id({
        description:
          'Only calls in generations of the agent with this id, and calls that MCP clients made through it.',
      }),
      ...createdFields(t, 'calls'),
    }),
  })
}
