/** The object types of approvals and of what people who decide read about a call. */
import { personFor } from '../../../domain/access/index.ts'
import {
  approvalShape,
  briefArguments,
  callSummary,
  claimOf,
  claimShape,
  decisionOf,
  extendableUntil,
  shownArguments,
  summaryOf,
  summaryPart,
  voteShape,
} from '../../../domain/approvals/index.ts'
import { approvalContext } from '../../../domain/generations/index.ts'
import { pointerOf } from '../../../core/json.ts'
import type { Refs } from '../builder/refs.ts'

/** Adds the type of the sentence about a call. */
export function addSummary({ shapes, CallSummary }: Refs): void {
  shapes.implement(CallSummary, callSummary, (t) => ({
    parts: t.expose('parts', {
      type: [shapes.object(summaryPart)],
      description: 'The pieces of the sentence in order; together they are its text.',
      // A sentence without a title has seven, and no piece is read from anywhere.
      complexity: () => ({ field: 5, multiplier: 1 }),
    }),
  }))
}

/** Implements Approval. */
export function addApprovalType(refs: Refs): void {
  const { builder, shapes } = refs
  const CanDecide = builder.objectRef<{ why: string | null }>('CanDecide').implement({
    description: 'Whether a caller may decide an approval.',
    fields: (t) => ({
      may: t.boolean({ description: 'Whether the caller may decide.', resolve: ({ why }) => why === null }),
      why: t.exposeString('why', {
        nullable: true,
        description: 'An explanation for people of why the caller may not decide; null when it may.',
      }),
    }),
  })
  shapes.node(refs.Approval, 'approval', approvalShape, (t) => ({
    arguments: t.field({
      type: 'JSONObject',
      description: 'The arguments that the call runs with, presets included, writeOnly values masked.',
      args: {
        brief: t.arg.boolean({
          description:
            'Whether only unmasked numbers, truth values and texts of at most 200 characters are returned, at most 20, ' +
            'as long lists need them. Default: false.',
        }),
      },
      resolve: (approval, { brief }) => (brief ? briefArguments(approval) : shownArguments(approval)),
    }),
    summary: t.field({
      type: refs.CallSummary,
      description:
        'What the call does, as one sentence for people, with the arguments that it runs with. Masked values are ' +
        '[masked] in it, or left out; a value has at most 80 characters.',
      resolve: summaryOf,
    }),
    asked: t.field({
      type: shapes.object(approvalContext),
      nullable: true,
      description:
        'What led to the call: the agents and the messages before it; null for a direct call, and when the topmost ' +
        'generation is hidden from this API key. Permission: generations:Get.',
      resolve: (approval, _args, { loaders }) => loaders.asked.load(approval),
    }),
    originalArguments: t.field({
      type: 'JSONObject',
      description: 'The arguments as requested, before an approver edited them, writeOnly values masked.',
      resolve: (approval) => shownArguments(approval, 'original'),
    }),
    maskedPaths: t.stringList({
      description:
        'The places of masked values in arguments, as JSON Pointers (RFC 6901) such as /card/pin. Returned unchanged in ' +
        'decideApproval, a mask means the value that it hides.',
      resolve: ({ masked }) => (masked ?? []).map(pointerOf),
    }),
    viewerCanDecide: t.field({
      type: CanDecide,
      description: 'Whether the caller may decide the approval now, and why not.',
      resolve: async (approval, _args, { loaders }) => ({ why: await loaders.whyNotDecide.load(approval) }),
    }),
    viewerMustLogIn: t.boolean({
      description:
        'Whether the call waits until the person of the caller has logged in at the server of the tool, with logInToUpstream.',
      resolve: async ({ status, requirement: { loginOf } }, _args, { ctx }) =>
        status === 'PENDING' &&
        loginOf !== undefined &&
        (await personFor(ctx.db, ctx.principal.id)) === loginOf,
    }),
    claim: t.field({
      type: shapes.object(claimShape),
      nullable: true,
      description:
        'Who is deciding, as claimApproval said; null without a claim, and when it has ended, its author has voted or ' +
        'the approval is not pending.',
      resolve: (approval, _args, { ctx }) => claimOf(approval, ctx.clock.now()),
    }),
    decision: t.field({
      type: shapes.object(voteShape),
      nullable: true,
      description:
        'The vote that settled the approval; null while it is pending, or when it expired or became void.',
      resolve: decisionOf,
    }),
    extendableUntil: t.field({
      type: 'DateTime',
      description:
        'The latest deadline that extendApproval accepts: 7 days after the approval was requested.',
      resolve: extendableUntil,
    }),
  }))
}
