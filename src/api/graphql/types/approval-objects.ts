/** The object type of approvals and their votes, and their enums. */
import {
  approvalStatus,
  claimOf,
  decisionOf,
  extendableUntil,
  shownArguments,
  summaryOf,
  verdictChoice,
  verdictWays,
  voidReasons,
  type AskedTool,
  type Claim,
  type Vote,
} from '../../../domain/approvals/index.ts'
import { pointerOf } from '../../../core/json.ts'
import { hasPrefix } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { GateTypes } from './gates.ts'
import { askedType } from './approval-sheet.ts'
import { principalField } from './principals.ts'
import type { Refs } from '../builder/refs.ts'

function addEnums({ builder, shapes }: Refs) {
  return {
    Status: shapes.choice(approvalStatus),
    Verdict: shapes.choice(verdictChoice),
    Way: builder.enumType('VerdictWay', {
      description: 'How a vote was given.',
      values: described(verdictWays, {
        KEY: 'The vote was given with an API key or a token.',
        SESSION: 'The vote was given in a signed-in browser.',
        SLACK: 'The vote was given in Slack.',
        LINK: 'The vote was given with a link and a one-time code.',
      }),
    }),
    VoidReason: builder.enumType('ApprovalVoidReason', {
      description: 'The reason why an approval became void.',
      values: described(voidReasons, {
        TOOL_CHANGED:
          'The tool or its gate changed before the call ran. A new approval was requested if the call is still valid.',
        TOOL_DELETED: 'The tool was deleted before the call ran.',
        GENERATION_ENDED: 'The generation ended before the verdict.',
        WITHDRAWN: 'The caller withdrew the call, or disconnected.',
      }),
    }),
  }
}

export type ApprovalEnums = ReturnType<typeof addEnums>

function voteType(refs: Refs, { Verdict, Way }: ApprovalEnums) {
  return refs.builder.objectRef<Vote>('ApprovalVote').implement({
    description: 'The vote of one person about an approval.',
    fields: (t) => ({
      verdict: t.expose('verdict', { type: Verdict, description: 'The verdict of the vote.' }),
      by: t.exposeID('by', { description: 'The id of the API key or person that voted.' }),
      voter: t.field(
        principalField(refs, (vote) => vote.by, 'The principal that voted, with its name as it is now.'),
      ),
      byName: t.exposeString('byName', { description: 'The name of the API key or person at that time.' }),
      at: t.field({
        type: 'DateTime',
        description: 'When the vote was given.',
        resolve: (vote) => new Date(vote.at),
      }),
      from: t.exposeString('from', {
        nullable: true,
        description: 'The network address of the voter; null when it is unknown.',
      }),
      via: t.field({
        type: Way,
        nullable: true,
        description: 'How the vote was given; null for votes of earlier releases.',
        resolve: (vote) => vote.via ?? null,
      }),
      reason: t.exposeString('reason', {
        nullable: true,
        description:
          'The reason of the vote, which the model receives with a rejection; null when none was given.',
      }),
      response: t.string({
        nullable: true,
        description:
          'The text that became the result of the call in place of that of its tool; null when there was none.',
        resolve: (vote) => vote.response ?? null,
      }),
      note: t.exposeString('note', {
        nullable: true,
        description: 'A note for other approvers, which the model never receives; null when none was given.',
      }),
    }),
  })
}

function claimType({ builder }: Refs) {
  const moment = (field: 'at' | 'until') => (claim: Claim) => new Date(claim[field])
  return builder.objectRef<Claim>('ApprovalClaim').implement({
    description: 'A note that an approver is deciding an approval. A claim blocks no other approver.',
    fields: (t) => ({
      by: t.exposeID('by', { description: 'The id of the API key or person that made the claim.' }),
      byName: t.exposeString('byName', { description: 'The name of the API key or person at that time.' }),
      at: t.field({ type: 'DateTime', description: 'When the claim was made.', resolve: moment('at') }),
      until: t.field({
        type: 'DateTime',
        description: 'When the claim ends by itself, 10 minutes after it was made.',
        resolve: moment('until'),
      }),
    }),
  })
}

/** Implements Approval; returns the enums, which queries and verdicts need too. */
export function addApprovalType(refs: Refs, gates: GateTypes): ApprovalEnums {
  const enums = addEnums(refs)
  const { builder } = refs
  const VoteType = voteType(refs, enums)
  const ClaimType = claimType(refs)
  const Question = builder.objectRef<AskedTool>('AskedTool').implement({
    description: 'A tool as it was when an approval was requested; it may have changed since.',
    fields: (t) => ({
      title: t.exposeString('title', {
        nullable: true,
        description: 'The display name of the tool; null when it had none.',
      }),
      description: t.exposeString('description', {
        nullable: true,
        description: 'The description that the model read; null when the tool had none.',
      }),
      inputSchema: t.expose('inputSchema', {
        type: 'JSONSchema',
        description: 'The JSON Schema of the arguments, without preset parameters.',
      }),
    }),
  })
  const CanDecide = builder.objectRef<{ why: string | null }>('CanDecide').implement({
    description: 'Whether a caller may decide an approval.',
    fields: (t) => ({
      may: t.boolean({ description: 'Whether the caller may decide.', resolve: ({ why }) => why === null }),
      why: t.string({
        nullable: true,
        description: 'An explanation for people of why the caller may not decide; null when it may.',
        resolve: ({ why }) => why,
      }),
    }),
  })
  const moment = { type: 'DateTime', nullable: true } as const
  refs.Approval.implement({
    description: 'A tool call that the gate stopped, with frozen arguments, until approvers decide.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'apr_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the approval; it begins with apr_.' }),
      status: t.expose('status', { type: enums.Status, description: 'The status of the approval.' }),
      toolName: t.exposeString('runtimeName', { description: 'The runtime name of the tool.' }),
      toolVersion: t.exposeInt('toolVersion', {
        description: 'The version of the tool that the approval is for.',
      }),
      arguments: t.field({
        type: 'JSONObject',
        description: 'The arguments that the call runs with, presets included, writeOnly values masked.',
        resolve: (approval) => shownArguments(approval),
      }),
      summary: t.field({
        type: refs.CallSummary,
        description:
          'What the call does, as one sentence for people, with the arguments that it runs with. Masked values are ' +
          '[masked] in it, or left out; a value has at most 80 characters.',
        resolve: summaryOf,
      }),
      asked: t.field({
        type: askedType(refs),
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
      digest: t.exposeString('digest', {
        description:
          'A hash over the tool, the arguments and the gate; pass it as expectedDigest to decide about exactly these.',
      }),
      question: t.expose('question', {
        type: Question,
        nullable: true,
        description:
          'The tool as it was when the approval was requested, which the approver decides about; null for an approval of ' +
          'an earlier release.',
      }),
      requirement: t.expose('requirement', {
        type: gates.Required,
        description: 'The verdict that the gate requires.',
      }),
      viewerCanDecide: t.field({
        type: CanDecide,
        description: 'Whether the caller may decide the approval now, and why not.',
        resolve: async (approval, _args, { loaders }) => ({ why: await loaders.whyNotDecide.load(approval) }),
      }),
      votes: t.expose('votes', {
        type: [VoteType],
        description: 'All votes, oldest first.',
      }),
      claim: t.field({
        type: ClaimType,
        nullable: true,
        description:
          'Who is deciding, as claimApproval said; null without a claim, and when it has ended, its author has voted or ' +
          'the approval is not pending.',
        resolve: (approval, _args, { ctx }) => claimOf(approval, ctx.clock.now()),
      }),
      decision: t.field({
        type: VoteType,
        nullable: true,
        description:
          'The vote that settled the approval; null while it is pending, or when it expired or became void.',
        resolve: decisionOf,
      }),
      toolCall: t.field({
        type: refs.ToolCall,
        nullable: true,
        description:
          'The stopped tool call, with its result once it ran; null when it is hidden from this API key.',
        resolve: (approval, _args, { loaders }) => loaders.toolCalls.load(approval.toolCallId),
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted or is hidden from this API key.',
        resolve: (approval, _args, { loaders }) => loaders.tools.load(approval.toolId),
      }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent whose model requested the call; null for a direct call.',
        resolve: ({ agentId }, _args, { loaders }) => (agentId ? loaders.agents.load(agentId) : null),
      }),
      generation: t.field({
        type: refs.Generation,
        nullable: true,
        description: 'The generation that waits; null for a direct call.',
        resolve: ({ generationId }, _args, { loaders }) =>
          generationId ? loaders.generations.load(generationId) : null,
      }),
      requestedBy: t.exposeID('requestedBy', {
        description: 'The id of the API key or person for whom the call is made.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        description: 'When the approval expires without a verdict, which rejects the call.',
      }),
      extendableUntil: t.field({
        type: 'DateTime',
        description:
          'The latest deadline that extendApproval accepts: 7 days after the approval was requested.',
        resolve: extendableUntil,
      }),
      escalatedAt: t.expose('escalatedAt', {
        ...moment,
        description: 'When the approval was escalated, so that admins may decide too; null when it was not.',
      }),
      settledAt: t.expose('settledAt', {
        ...moment,
        description: 'When the approval was decided, expired or became void; null while it is pending.',
      }),
      voidReason: t.expose('voidReason', {
        type: enums.VoidReason,
        nullable: true,
        description: 'Why the approval became void; null unless the status is VOIDED.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the approval was requested.' }),
    }),
  })
  return enums
}
