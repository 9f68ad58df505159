/** Mutations about the time of an approval: who is deciding, and a later deadline. */
import {
  claimApproval,
  extendApproval,
  releaseApproval,
  type Approval,
} from '../../../domain/approvals/index.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

const errors = [
  'NotFoundError',
  'ApprovalAlreadyDecidedError',
  'ApprovalExpiredError',
  'ConflictError',
] as const

export function addApprovalTime(refs: Refs): void {
  const { builder } = refs
  const payload = (name: string, description: string) =>
    builder.objectRef<{ approval: Approval }>(name).implement({
      description,
      fields: (t) => ({
        approval: t.expose('approval', {
          type: refs.Approval,
          description: 'The approval after the mutation.',
        }),
      }),
    })
  const input = (name: string, description: string) =>
    builder.inputType(name, {
      description,
      fields: (t) => ({
        approvalId: t.id({ required: true, description: 'The id of the approval; it begins with apr_.' }),
      }),
    })
  addMutation(refs, {
    name: 'claimApproval',
    description:
      'Shows other approvers for 10 minutes that the caller is deciding an approval; a repeat renews the claim. A claim ' +
      'blocks no verdict; ConflictError names the approver of an earlier one. Permission: approvals:Decide.',
    input: input('ClaimApprovalInput', 'The approval that the caller is deciding.'),
    payload: payload('ClaimApprovalPayload', 'The result of a claim.'),
    errors,
    run: async (ctx, { approvalId }) => ({
      approval: await claimApproval(ctx, { approvalId: String(approvalId) }),
    }),
  })
  addMutation(refs, {
    name: 'releaseApproval',
    description:
      'Gives up a claim of the caller. Without a claim it changes nothing. Permission: approvals:Decide.',
    input: input('ReleaseApprovalInput', 'The approval that the caller is not deciding any more.'),
    payload: payload('ReleaseApprovalPayload', 'The result of giving up a claim.'),
    errors: ['NotFoundError', 'ConflictError'],
    run: async (ctx, { approvalId }) => ({
      approval: await releaseApproval(ctx, { approvalId: String(approvalId) }),
    }),
  })
  addMutation(refs, {
    name: 'extendApproval',
    description:
      'Sets a later deadline of a pending approval; not for the person who requested the call. A deadline that is later ' +
      'already stays, and an escalation keeps its time. Permission: approvals:Decide.',
    input: builder.inputType('ExtendApprovalInput', {
      description: 'A later deadline for an approval.',
      fields: (t) => ({
        approvalId: t.id({ required: true, description: 'The id of the approval; it begins with apr_.' }),
        until: t.field({
          type: 'DateTime',
          required: true,
          description: 'The new deadline, at most 7 days after the approval was requested.',
        }),
      }),
    }),
    payload: payload('ExtendApprovalPayload', 'The result of giving longer time.'),
    errors,
    run: async (ctx, { approvalId, until }) => ({
      approval: await extendApproval(ctx, { approvalId: String(approvalId), until }),
    }),
  })
}
