/**
 * Gates in GraphQL: the policy of a tool or agent, the queries that try one without calling a tool, and changes that another
 * person confirms or rejects.
 */
import {
  adviseGate,
  evaluateGate,
  type GateAdvice,
  gateAdvice,
  previewGate,
  type GateEvaluation,
  gateEvaluation,
  gatePreview,
} from '../../../domain/approvals/index.ts'
import {
  gateInput,
  type GatePolicy,
  type GateSource,
  gateSource,
  policyShape,
} from '../../../domain/gates/index.ts'
import type { Refs } from '../builder/refs.ts'
import { optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { listGateChanges, gateChange } from '../../../domain/gate-changes/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { addById, addList } from '../builder/queries.ts'

export type GateTypes = ReturnType<typeof addGateTypes>

/** Adds the types and queries; returns the types that tools, agents and approvals use. */
export function addGateTypes(refs: Refs) {
  const { builder } = refs
  const Policy = refs.shapes.implement(
    builder.objectRef<GatePolicy & { source: GateSource }>('GatePolicy'),
    policyShape,
    (t) => ({
      autoApprove: t.boolean({
        description: 'Whether every call passes without approval.',
        resolve: (gate) => gate.mode === 'NEVER',
      }),
      source: t.expose('source', {
        type: refs.shapes.choice(gateSource),
        description: 'The origin of the gate.',
      }),
    }),
  )
  const Input = refs.shapes.part(gateInput)
  return { Policy, Input }
}

/** The ways to try a gate without calling anything, and what the verdicts of the past say about it. */
export function addGateTrials(refs: Refs, { Policy, Input }: GateTypes): void {
  const { builder } = refs
  const Evaluation = refs.shapes.implement(
    builder.objectRef<GateEvaluation>('GateEvaluation'),
    gateEvaluation,
    (t) => ({
      stops: t.boolean({
        description:
          'Whether the call would not run at once: it would be stopped for approval, or refused by a grant.',
        resolve: (made) => made.requirement !== null && !made.passes,
      }),
    }),
  )
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
      type: refs.shapes.object(gatePreview),
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
  const Advice = refs.shapes.implement(builder.objectRef<GateAdvice>('GateAdvice'), gateAdvice, (t) => ({
    gate: t.field({
      type: Policy,
      description: 'The gate of now with these calls let through, to be previewed and saved like any other.',
      resolve: ({ gate }) => ({ ...gate, source: 'OPERATOR' as const }),
    }),
  }))
  builder.queryField('gateAdvice', (t) =>
    t.field({
      type: Advice,
      nullable: true,
      description:
        'Calls that the gate of a tool stops and people always approved in the last 30 days, at least 20 of the newest 1,000 ' +
        'approvals; null when there are none. Permission: tools:Get, and approvals:List.',
      args: {
        toolId: t.arg.id({ required: true, description: 'The id of the tool; it begins with tool_.' }),
        action: t.arg.string({ description: 'The name of the action; required for mcp and platform tools.' }),
      },
      resolve: (_root, args, { ctx }) => adviseGate(ctx, args),
    }),
  )
}

export function addGateChanges(refs: Refs): void {
  refs.shapes.node(refs.GateChange, 'gateChange', gateChange)
  addQueries(refs)
}

function addQueries(refs: Refs): void {
  const connection = connectionOf(refs.GateChange, 'GateChange')
  addById(refs, {
    name: 'gateChange',
    type: refs.GateChange,
    kind: 'gateChange',
    words: 'A proposed gate change',
    permission: 'gates:Get',
    load: ({ gateChanges }, id) => gateChanges.load(id),
  })
  addList(refs, {
    name: 'gateChanges',
    type: connection,
    description: 'The proposed gate changes of a project, newest first. Permission: gates:List.',
    args: {
      pending: optional(z.boolean().describe('Whether only pending changes are returned.'), 'false'),
    },
    list: listGateChanges,
  })
}
