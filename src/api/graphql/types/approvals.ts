/** The mutations that decide approvals, in GraphQL. */
import type { InputRef } from '@pothos/core'
import {
  decideApproval,
  decideApprovals,
  decideEachApproval,
  type Approval,
  type DecideApprovalInput,
  type DecisionOutcome,
} from '../../../domain/approvals/index.ts'
import { addApprovalType, type ApprovalEnums } from './approval-objects.ts'
import { addApprovalTime } from './approval-time.ts'
import { addApprovalQueries } from './approval-queries.ts'
import type { GateTypes } from './gates.ts'
import type { GrantTypes } from './grants.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export function addApprovals(refs: Refs, gates: GateTypes, grants: GrantTypes): void {
  const enums = addApprovalType(refs, gates)
  addApprovalQueries(refs, enums)
  addVerdicts(refs, grants, enums)
  addApprovalTime(refs)
}

const decideErrors = [
  'NotFoundError',
  'ApprovalAlreadyDecidedError',
  'ApprovalExpiredError',
  'ConflictError',
  'LimitReachedError',
] as const

function addVerdicts(refs: Refs, { GrantInput }: GrantTypes, { Verdict }: ApprovalEnums): void {
  const { builder } = refs
  const Decision = builder.inputType('DecideApprovalInput', {
    description: 'A verdict about one approval.',
    fields: (t) => ({
      approvalId: t.id({ required: true, description: 'The id of the approval; it begins with apr_.' }),
      verdict: t.field({ type: Verdict, required: true, description: 'The verdict about the approval.' }),
      reason: t.string({
        description: 'The reason, which the model receives with a rejection; at most 2,000 characters.',
      }),
      note: t.string({
        description: 'A note for other approvers, which the model never receives; at most 2,000 characters.',
      }),
      response: t.string({
        description:
          'A text that becomes the result of the call in place of that of the tool, for REJECT only, where every gate that stops ' +
          'the call allows responses; at most 20,000 characters, and JSON that fits the outputSchema of the tool, if it has ' +
          'one. Not together with reason. Default: the call is rejected.',
      }),
      arguments: t.field({
        type: 'JSONObject',
        description:
          'Edited arguments without presets, for APPROVE only; they are validated, and the model learns ' +
          'which ones changed. Default: the frozen arguments.',
      }),
      expectedDigest: t.string({
        description:
          'The digest that the verdict is for: with another current digest the mutation returns ' +
          'ConflictError. Default: the digest at the time of the request.',
      }),
      grant: t.field({
        type: GrantInput,
        description:
          'A grant that remembers the verdict: with APPROVE it lets later calls pass the gate, with REJECT it refuses them. ' +
          'Default: none.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'decideApproval',
    description:
      'Gives a verdict about an approval. The first deciding verdict wins; later ones return ' +
      'ApprovalAlreadyDecidedError or ApprovalExpiredError. Permission: approvals:Decide.',
    input: Decision,
    payload: builder.objectRef<{ approval: Approval }>('DecideApprovalPayload').implement({
      description: 'The result of a verdict that was accepted.',
      fields: (t) => ({
        approval: t.expose('approval', {
          type: refs.Approval,
          // As in the errors, so that one document can select it in all members of the union.
          nullable: true,
          description: 'The approval after the mutation, never null here.',
        }),
      }),
    }),
    errors: decideErrors,
    run: async (ctx, input) => ({ approval: await decideApproval(ctx, input as DecideApprovalInput) }),
  })
  addMutation(refs, {
    name: 'decideApprovals',
    description:
      'Gives several verdicts atomically: one that is refused refuses all. Permission: approvals:Decide.',
    input: builder.inputType('DecideApprovalsInput', {
      description: 'Verdicts about several approvals.',
      fields: (t) => ({
        decisions: t.field({ type: [Decision], required: true, description: 'The verdicts, 1 to 50.' }),
      }),
    }),
    payload: builder.objectRef<{ approvals: Approval[] }>('DecideApprovalsPayload').implement({
      description: 'The result of verdicts that were accepted.',
      fields: (t) => ({
        approvals: t.expose('approvals', {
          type: [refs.Approval],
          description: 'The approvals in the order of the decisions.',
        }),
      }),
    }),
    errors: decideErrors,
    run: async (ctx, input) => ({
      approvals: await decideApprovals(ctx, input as { decisions: DecideApprovalInput[] }),
    }),
  })
  addEach(refs, Decision)
  for (const name of ['ApprovalAlreadyDecidedError', 'ApprovalExpiredError', 'ConflictError'] as const)
    builder.objectField(refs.errors[name], 'approval', (t) =>
      t.field({
        type: refs.Approval,
        nullable: true,
        description:
          'The approval of the refused verdict, as it is now; null when the error is about another object.',
        resolve: (refusal, _args, { loaders }) => {
          const id = (refusal as { details: { conflictingId?: string } }).details.conflictingId
          return id?.startsWith('apr_') ? loaders.approvals.load(id) : null
        },
      }),
    )
}

function addEach(refs: Refs, Decision: InputRef<object>): void {
  const { builder } = refs
  const Fault = builder.objectRef<NonNullable<DecisionOutcome['error']>>('DecisionError').implement({
    description: 'The reason for which one verdict was refused.',
    interfaces: [refs.Error],
  })
  const Outcome = builder.objectRef<DecisionOutcome>('DecisionOutcome').implement({
    description: 'The outcome of one verdict.',
    fields: (t) => ({
      approvalId: t.exposeID('approvalId', { description: 'The id of the approval, as in the input.' }),
      approval: t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The approval as it is now; null when it does not exist for this API key.',
        resolve: ({ approval, error, approvalId }, _args, { loaders }) =>
          approval ?? (error?.code === 'NOT_FOUND' ? null : loaders.approvals.load(approvalId)),
      }),
      error: t.expose('error', {
        type: Fault,
        nullable: true,
        description: 'The reason for which the verdict was refused; null when it was accepted.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'decideEachApproval',
    description:
      'Gives several verdicts, each with its own outcome; an error for all only when each is invalid, unknown or not allowed. ' +
      'Permission: approvals:Decide.',
    input: builder.inputType('DecideEachApprovalInput', {
      description: 'Verdicts about several approvals.',
      fields: (t) => ({
        decisions: t.field({ type: [Decision], required: true, description: 'The verdicts, 1 to 50.' }),
      }),
    }),
    payload: builder.objectRef<{ outcomes: DecisionOutcome[] }>('DecideEachApprovalPayload').implement({
      description: 'The outcomes of several verdicts.',
      fields: (t) => ({
        outcomes: t.expose('outcomes', {
          type: [Outcome],
          description: 'The outcomes in the order of the decisions.',
        }),
      }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({
      outcomes: await decideEachApproval(ctx, input as { decisions: DecideApprovalInput[] }),
    }),
  })
}
