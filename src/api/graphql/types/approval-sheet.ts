/** What people who decide read about a call, in GraphQL: the sentence about it. */
import type { CallSummary, CallSummaryPart } from '../../../domain/approvals/index.ts'
import type { Refs } from '../builder/refs.ts'

/** The type of the sentence about a call. */
export function summaryType({ builder }: Refs) {
  const Part = builder.objectRef<CallSummaryPart>('CallSummaryPart').implement({
    description: 'A piece of the sentence about a call.',
    fields: (t) => ({
      text: t.exposeString('text', { description: 'The text of the piece, in one line.' }),
      isValue: t.exposeBoolean('isValue', {
        description: 'Whether the piece is the value of an argument, and not words about the tool.',
      }),
    }),
  })
  return builder.objectRef<CallSummary>('CallSummary').implement({
    description:
      'One sentence about a call: the title of its gate with the values of the arguments, or the name of the tool and ' +
      'its first arguments.',
    fields: (t) => ({
      text: t.exposeString('text', { description: 'The whole sentence, in one line.' }),
      parts: t.expose('parts', {
        type: [Part],
        description: 'The pieces of the sentence in order; together they are its text.',
        // A sentence without a title has seven, and no piece is read from anywhere.
        complexity: () => ({ field: 5, multiplier: 1 }),
      }),
    }),
  })
}
