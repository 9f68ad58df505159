/** Gates on the wire: the policy of a tool or agent, and the two ways to try one without calling anything. */
import {
  evaluateGate,
  previewGate,
  type GateEvaluation,
  type GatePreview,
} from '../../domain/approvals/index.ts'
import {
  gateModes,
  gateSources,
  type GatePolicy,
  type GateSource,
  type Requirement,
} from '../../domain/tools/index.ts'
import { described } from './described.ts'
import type { RoleEnum } from './keys.ts'
import type { Refs } from './refs.ts'

export type GateTypes = ReturnType<typeof addGateTypes>

const when = 'JSON Schema over the arguments, presets merged in: calls that fit it stop.'

/** Adds the types and answers what tools, agents and approvals use of them. */
export function addGateTypes(refs: Refs, Role: RoleEnum) {
  const { builder } = refs
  const Mode = builder.enumType('GateMode', {
    description: 'Which calls a gate stops.',
    values: described(gateModes, {
      NEVER: 'None: autoApprove is true.',
      ALWAYS: 'All: autoApprove is false.',
      WHEN: 'Those whose arguments fit the schema `when`.',
    }),
  })
  const Source = builder.enumType('GateSource', {
    description: 'Where a gate comes from.',
    values: described(gateSources, {
      OPERATOR: 'It was set.',
      DESTRUCTIVE_HINT: 'The tool is annotated as destructive and nobody set a gate.',
      DEFAULT: 'Nobody set one: calls pass.',
    }),
  })
  const Policy = builder.objectRef<GatePolicy & { source: GateSource }>('GatePolicy').implement({
    description: 'The rule that stops a call for a human.',
    fields: (t) => ({
      autoApprove: t.boolean({
        description: 'Whether every call passes.',
        resolve: (gate) => gate.mode === 'NEVER',
      }),
      mode: t.expose('mode', { type: Mode, description: 'Which calls it stops.' }),
      when: t.expose('when', { type: 'JSONSchema', nullable: true, description: when }),
      timeoutSeconds: t.exposeInt('timeoutSeconds', {
        description: 'Nobody answered for so long: the call is rejected.',
      }),
      quorum: t.exposeInt('quorum', { description: 'Approvals of different people that it takes.' }),
      excludeRequester: t.exposeBoolean('excludeRequester', {
        description: 'Whether who asked may not decide, by any key of theirs.',
      }),
      approvers: t.expose('approvers', {
        type: [Role],
        description: 'Only keys of these roles decide; empty: all that may approvals:Decide.',
      }),
      escalateAfterSeconds: t.exposeInt('escalateAfterSeconds', {
        nullable: true,
        description: 'Nobody answered for so long: an event tells it, and admins may decide too.',
      }),
      source: t.expose('source', { type: Source, description: 'Where it comes from.' }),
    }),
  })
  const Input = builder.inputType('GateInput', {
    description: 'When a human must agree: the switch autoApprove, or a policy.',
    fields: (t) => ({
      autoApprove: t.boolean({
        description: 'true: never stop; false: stop every call. Not together with mode.',
      }),
      mode: t.field({ type: Mode, description: 'WHEN with a schema, else ALWAYS, when left out.' }),
      when: t.field({ type: 'JSONSchema', description: when }),
      timeoutSeconds: t.int({ description: '5 to 604,800 (7 days); 300 when left out.' }),
      quorum: t.int({
        description:
          'Approvals of different people, 1 to 10; 1 when left out. Keys that one key has made are one person.',
      }),
      excludeRequester: t.boolean({ description: 'true: who asked may not decide.' }),
      approvers: t.field({
        type: [Role],
        description: 'Only keys of these roles decide; all when left out.',
      }),
      escalateAfterSeconds: t.int({ description: 'Less than timeoutSeconds; never when left out.' }),
    }),
  })
  const Required = builder.objectRef<Requirement>('GateRequirement').implement({
    description: 'What a stopped call waits for: the strictest of all policies that stop it.',
    fields: (t) => ({
      timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'Time for a verdict.' }),
      quorum: t.exposeInt('quorum', { description: 'Approvals of different people that it takes.' }),
      excludeRequester: t.exposeBoolean('excludeRequester', {
        description: 'Whether who asked may not decide, by any key of theirs.',
      }),
      approvers: t.field({
        type: t.listRef(t.listRef(Role)),
        description: 'Whoever decides has a role of each of these lists.',
        resolve: (requirement) => requirement.approvers,
      }),
      escalateAfterSeconds: t.exposeInt('escalateAfterSeconds', {
        nullable: true,
        description: 'When it is escalated.',
      }),
    }),
  })
  return { Policy, Input, Required }
}

/** The two ways to try a gate without calling anything. */
export function addGateTrials(refs: Refs, { Input, Required }: GateTypes): void {
  const { builder } = refs
  const Evaluation = builder.objectRef<GateEvaluation>('GateEvaluation').implement({
    description: 'What a call would meet at the gate.',
    fields: (t) => ({
      stops: t.boolean({
        description: 'Whether it would wait for a human.',
        resolve: (made) => made.requirement !== null && made.grantId === null,
      }),
      requirement: t.field({
        type: Required,
        nullable: true,
        description: 'What the gate asks; null when it asks nothing.',
        resolve: (made) => made.requirement,
      }),
      grant: t.field({
        type: refs.Grant,
        nullable: true,
        description: 'The grant that would let it pass all the same.',
        resolve: (made, _args, { loaders }) => (made.grantId ? loaders.grants.load(made.grantId) : null),
      }),
    }),
  })
  const Preview = builder.objectRef<GatePreview>('GatePreview').implement({
    description: 'What a draft gate would have done to recorded calls.',
    fields: (t) => ({
      replayed: t.exposeInt('replayed', { description: 'Calls that were judged.' }),
      stopped: t.exposeInt('stopped', { description: 'How many of them the draft stops.' }),
      newlyStopped: t.exposeInt('newlyStopped', { description: 'How many it stops that pass now.' }),
      newlyPassing: t.exposeInt('newlyPassing', { description: 'How many it lets pass that stop now.' }),
      newlyStoppedCalls: t.expose('newlyStoppedCalls', {
        type: [refs.ToolCall],
        description: 'The newest of them, at most 20.',
      }),
      newlyPassingCalls: t.expose('newlyPassingCalls', {
        type: [refs.ToolCall],
        description: 'The newest of them, at most 20.',
      }),
    }),
  })
  builder.queryField('evaluateGate', (t) =>
    t.field({
      type: Evaluation,
      description:
        'Tries the gate of a tool with these arguments, as a direct call. Nothing is called or asked.',
      args: {
        toolId: t.arg.id({ required: true, description: 'Begins with tool_.' }),
        action: t.arg.string({ description: 'As for callTool.' }),
        arguments: t.arg({ type: 'JSONObject', description: 'As for callTool; {} when left out.' }),
      },
      resolve: (_root, args, { ctx }) => evaluateGate(ctx, { ...args, arguments: args.arguments ?? {} }),
    }),
  )
  builder.queryField('previewGate', (t) =>
    t.field({
      type: Preview,
      description: 'Replays a draft gate over the newest recorded calls of a tool, against the gate of now.',
      args: {
        toolId: t.arg.id({ required: true, description: 'Begins with tool_.' }),
        action: t.arg.string({ description: 'As for callTool.' }),
        gate: t.arg({ type: Input, required: true, description: 'The draft.' }),
        last: t.arg.int({ description: '1 to 1,000 calls; 100 when left out.' }),
      },
      resolve: (_root, args, { ctx }) => previewGate(ctx, args),
    }),
  )
}
