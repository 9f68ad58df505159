/** What people who decide read about a call, in GraphQL: the sentence about it, and what led to it. */
import { messageRole } from '../../../domain/threads/index.ts'
import type { CallSummaryPart } from '../../../domain/approvals/index.ts'
import type { ApprovalContext, AskedMessage, AskingAgent } from '../../../domain/generations/index.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds the type of the sentence about a call. */
export function addSummary({ builder, CallSummary }: Refs): void {
  const Part = builder.objectRef<CallSummaryPart>('CallSummaryPart').implement({
    description: 'A piece of the sentence about a call.',
    fields: (t) => ({
      text: t.exposeString('text', { description: 'The text of the piece, in one line.' }),
      isValue: t.exposeBoolean('isValue', {
        description: 'Whether the piece is the value of an argument, and not words about the tool.',
      }),
    }),
  })
  CallSummary.implement({
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

/** The type of what led to a call. */
export function askedType({ builder, shapes }: Refs) {
  const Agent = builder.objectRef<AskingAgent>('AskingAgent').implement({
    description: 'An agent on the way from the start of a run to a call.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the agent; it begins with agt_.' }),
      name: t.exposeString('name', {
        nullable: true,
        description: 'The name of the agent; null when it was deleted or is hidden from this API key.',
      }),
    }),
  })
  const Message = builder.objectRef<AskedMessage>('AskedMessage').implement({
    description: 'A message before a call.',
    fields: (t) => ({
      role: t.expose('role', { type: shapes.choice(messageRole), description: 'The author of the message.' }),
      text: t.exposeString('text', {
        description:
          'The text of the message, at most 4,000 characters. Values that are masked in the arguments are replaced by ' +
          '[masked]; so is the whole text when they are not certain to be found in it.',
      }),
      isCut: t.exposeBoolean('isCut', { description: 'Whether the message is longer than the text.' }),
    }),
  })
  return builder.objectRef<ApprovalContext>('ApprovalAsked').implement({
    description: 'What led to a call that an approval is about.',
    fields: (t) => ({
      agents: t.expose('agents', {
        type: [Agent],
        description: 'The agents from the one that was started to the one that calls, at most 5.',
      }),
      messages: t.expose('messages', {
        type: [Message],
        description:
          'The first message of the user in the topmost generation, and the last ones of its thread before the call, ' +
          'oldest first, at most 6.',
      }),
    }),
  })
}
