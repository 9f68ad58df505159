/** Gates in GraphQL: the policy of a tool or agent, and the queries that try one without calling a tool. */
import {
  evaluateGate,
  previewGate,
  type GateEvaluation,
  type GatePreview,
} from '../../../domain/approvals/index.ts'
import {
  gateInput,
  gateMeanings,
  gateMode,
  gateSources,
  type GatePolicy,
  type GateSource,
  type Requirement,
} from '../../../domain/gates/index.ts'
import { described } from '../builder/described.ts'
import type { RoleEnum } from './keys.ts'
import type { Refs } from '../builder/refs.ts'

export type GateTypes = ReturnType<typeof addGateTypes>

const { when, verdictLinks: links, responses, title } = gateMeanings

/** Adds the types and queries; returns the types that tools, agents and approvals use. */
export function addGateTypes(refs: Refs, Role: RoleEnum) {
  const { builder } = refs
  const Mode = refs.shapes.choice(gateMode)
  const Source = builder.enumType('GateSource', {
    description: 'The origin of a gate.',
    values: described(gateSources, {
      OPERATOR: 'An operator set the gate.',
      DESTRUCTIVE_HINT: 'No gate is set, and destructiveHint of the tool stops every call.',
      DEFAULT: 'No gate is set, and calls pass.',
    }),
  })
  const Policy = builder.objectRef<GatePolicy & { source: GateSource }>('GatePolicy').implement({
    description: 'The policy that stops calls until approvers decide.',
    fields: (t) => ({
      autoApprove: t.boolean({
        description: 'Whether every call passes without approval.',
        resolve: (gate) => gate.mode === 'NEVER',
      }),
      mode: t.expose('mode', { type: Mode, description: 'Which calls the gate stops.' }),
      when: t.expose('when', {
        type: 'JSONSchema',
        nullable: true,
        description: `${when} Null in other modes.`,
      }),
      timeoutSeconds: t.exposeInt('timeoutSeconds', {
        description: 'The time for a verdict in seconds; after it, the call is rejected.',
      }),
      quorum: t.exposeInt('quorum', {
        description: 'The number of approvals by different people that a call needs.',
      }),
      excludeRequester: t.exposeBoolean('excludeRequester', {
        description: 'Whether the person who requested the call may not decide about it, with any API key.',
      }),
      approvers: t.expose('approvers', {
        type: [Role],
        description: 'The roles whose API keys may decide; empty: every key with approvals:Decide.',
      }),
      escalateAfterSeconds: t.exposeInt('escalateAfterSeconds', {
        nullable: true,
        description:
          'Seconds without a verdict until the approval is escalated: an event is sent and admins may decide ' +
          'too. Null: never.',
      }),
      verdictLinks: t.boolean({
        description: links,
        resolve: (gate) => gate.verdictLinks === true,
      }),
      responses: t.boolean({
        description: responses,
        resolve: (gate) => gate.responses === true,
      }),
      title: t.string({
        nullable: true,
        description: `${title} Null: the name of the tool and its first arguments.`,
        resolve: (gate) => gate.title ?? null,
      }),
      source: t.expose('source', { type: Source, description: 'The origin of the gate.' }),
    }),
  })
  const Input = refs.shapes.part(gateInput)
  const Required = builder.objectRef<Requirement>('GateRequirement').implement({
    description: 'The verdict that a stopped call needs: the strictest of all policies that stop it.',
    fields: (t) => ({
      timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'The time for a verdict in seconds.' }),
      quorum: t.exposeInt('quorum', {
        description: 'The number of approvals by different people that a call needs.',
      }),
      excludeRequester: t.exposeBoolean('excludeRequester', {
        description: 'Whether the person who requested the call may not decide about it, with any API key.',
      }),
      approvers: t.field({
        type: t.listRef(t.listRef(Role)),
        description: 'Lists of roles: an API key that decides has a role of each list.',
        resolve: (requirement) => requirement.approvers,
      }),
      escalateAfterSeconds: t.exposeInt('escalateAfterSeconds', {
        nullable: true,
        description: 'Seconds without a verdict until the approval is escalated; null: never.',
      }),
      verdictLinks: t.boolean({
        description: links,
        resolve: (requirement) => requirement.verdictLinks === true,
      }),
      responses: t.boolean({
        description: responses,
        resolve: (requirement) => requirement.responses === true,
      }),
    }),
  })
  return { Policy, Input, Required }
}

/** The two ways to try a gate without calling anything. */
export function addGateTrials(refs: Refs, { Input, Required }: GateTypes): void {
  const { builder } = refs
  const Evaluation = builder.objectRef<GateEvaluation>('GateEvaluation').implement({
    description: 'The decision of the gate about a call, without making the call.',
    fields: (t) => ({
      stops: t.boolean({
        description:
          'Whether the call would not run at once: it would be stopped for approval, or refused by a grant.',
        resolve: (made) => made.requirement !== null && !made.passes,
      }),
      requirement: t.field({
        type: Required,
        nullable: true,
        description: 'The verdict that the gate requires; null when it requires none.',
        resolve: (made) => made.requirement,
      }),
      grant: t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant that would let the call pass the gate, or refuse it; null when none would.',
        resolve: (made, _args, { loaders }) => (made.grantId ? loaders.grants.load(made.grantId) : null),
      }),
    }),
  })
  const Preview = builder.objectRef<GatePreview>('GatePreview').implement({
    description: 'The effect of a draft gate on recorded calls.',
    fields: (t) => ({
      replayed: t.exposeInt('replayed', { description: 'The number of recorded calls that were evaluated.' }),
      stopped: t.exposeInt('stopped', { description: 'The number of calls that the draft stops.' }),
      newlyStopped: t.exposeInt('newlyStopped', {
        description: 'The number of calls that the draft stops and the current gate lets pass.',
      }),
      newlyPassing: t.exposeInt('newlyPassing', {
        description: 'The number of calls that the draft lets pass and the current gate stops.',
      }),
      newlyStoppedCalls: t.expose('newlyStoppedCalls', {
        type: [refs.ToolCall],
        description: 'The newest calls of newlyStopped, at most 20.',
      }),
      newlyPassingCalls: t.expose('newlyPassingCalls', {
        type: [refs.ToolCall],
        description: 'The newest calls of newlyPassing, at most 20.',
      }),
    }),
  })
  builder.queryField('evaluateGate', (t) =>
    t.field({
      type: Evaluation,
      description:
        'Evaluates the gate of a tool for a direct call with these arguments; no tool is called and no ' +
        'approval created. Permission: tools:Get.',
      args: {
        toolId: t.arg.id({ required: true, description: 'The id of the tool; it begins with tool_.' }),
        action: t.arg.string({ description: 'The name of the action; required for mcp and platform tools.' }),
        arguments: t.arg({ type: 'JSONObject', description: 'The arguments of the call. Default: {}.' }),
      },
      resolve: (_root, args, { ctx }) => evaluateGate(ctx, { ...args, arguments: args.arguments ?? {} }),
    }),
  )
  builder.queryField('previewGate', (t) =>
    t.field({
      type: Preview,
      description:
        'Evaluates a draft gate for the newest recorded calls of a tool and compares it with the current ' +
        'gate. Permission: tools:Get, and toolCalls:List.',
      args: {
        toolId: t.arg.id({ required: true, description: 'The id of the tool; it begins with tool_.' }),
        action: t.arg.string({ description: 'The name of the action; required for mcp and platform tools.' }),
        gate: t.arg({ type: Input, required: true, description: 'The draft of the gate.' }),
        last: t.arg.int({ description: 'The number of recorded calls, 1 to 1,000. Default: 100.' }),
      },
      resolve: (_root, args, { ctx }) => previewGate(ctx, args),
    }),
  )
}
