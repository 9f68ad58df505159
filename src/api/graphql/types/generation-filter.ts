/** The filter of a list of generations in GraphQL. */
import { createdFields } from '../builder/filters.ts'
import type { GenerationEnums } from './generation-enums.ts'
import type { Refs } from '../builder/refs.ts'

export type GenerationFilterRef = ReturnType<typeof filterInput>

export function filterInput({ builder }: Refs, Status: GenerationEnums) {
  return builder.inputType('GenerationFilter', {
    description: 'Which generations of a project are listed: those that match all given fields.',
    fields: (t) => ({
      statuses: t.field({
        type: [Status.status],
        description: 'Only generations with one of these statuses. Default: any status.',
      }),
      agentId: t.id({ description: 'Only generations of the agent with this id.' }),
      threadId: t.id({ description: 'Only generations of the thread with this id.' }),
      requestedBy: t.id({ description: 'Only generations that the principal with this id started.' }),
      rootOnly: t.boolean({ description: 'Whether child runs are left out. Default: false.' }),
      text: t.string({
        description:
          'Only generations that this text finds, 1 to 200 characters: the whole id of a generation (with the ' +
          'child runs below it), of a thread or of an agent, or a part of the name of an agent of the project, ' +
          'upper and lower case alike. Of more than 100 such agents the newest 100 count.',
      }),
      search: t.string({
        description:
          'Only generations with all these words, at most 200 characters, in the name of the agent or in the first line of ' +
          'the first user message; the last word may be a beginning, and letter case does not matter. What the field text ' +
          'finds, and the code of an error, are found too. Generations of earlier releases have no words.',
      }),
      ...createdFields(t, 'generations'),
    }),
  })
}
