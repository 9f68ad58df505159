/** The object types of generations and of pages of their events. */
import { encodeGenerationCursor } from '../../../domain/events/index.ts'
import {
  generationStatus,
  inputLineOf,
  isTerminal,
  lineOf,
  readEvents,
  shownStatus,
  type Generation,
  generationShape,
} from '../../../domain/generations/index.ts'
import type { Approval } from '../../../domain/approvals/index.ts'
import type { ToolCall } from '../../../domain/tool-calls/index.ts'
import { pageSizes } from '../builder/builder.ts'
import { callPage, callsAfter, firstOf, sizeOf } from './event-pages.ts'
import type { EventTypes } from './events.ts'
import { openCalls } from './generation-chain.ts'
import { listMaxima } from '../builder/list-bounds.ts'
import type { EventShape, Refs } from '../builder/refs.ts'
import { addSteps, type StepTypes } from './step-objects.ts'

/** Implements Generation and Step with the types that only they use. */
export function addGenerationTypes(refs: Refs, events: EventTypes): void {
  addGenerationType(refs, addSteps(refs))
  addLog(refs, events)
}

function addGenerationType(refs: Refs, { Usage }: StepTypes): void {
  const { builder, shapes } = refs
  const Required = builder
    .objectRef<{ toolCalls: ToolCall[]; approvals: Approval[] }>('RequiredAction')
    .implement({
      description:
        'The open tool calls and approvals that a generation waits for. A list without entries is empty, never null.',
      fields: (t) => ({
        toolCalls: t.expose('toolCalls', {
          type: [refs.ToolCall],
          description: 'Open client tool calls: run them in the client, then submitToolOutputs.',
        }),
        approvals: t.expose('approvals', {
          type: [refs.Approval],
          description: 'Approvals that wait for a verdict: decideApproval.',
        }),
      }),
    })
  shapes.node(refs.Generation, 'generation', generationShape, (t) => ({
    status: t.field({
      type: shapes.choice(generationStatus),
      description: 'The status of the generation.',
      resolve: async (generation, _args, { loaders }) => {
        const { storedStatus } = generation
        return shownStatus(
          storedStatus,
          storedStatus === 'WAITING' ? await openCalls(generation, loaders) : [],
        )
      },
    }),
    inputLine: t.string({
      nullable: true,
      description:
        'The first line of the first user message that has text, at most 200 characters; null without one.',
      resolve: ({ input }) => inputLineOf(input),
    }),
    outputLine: t.string({
      nullable: true,
      description:
        'The first line of the output text, at most 200 characters; null without one, and unless the status is COMPLETED.',
      resolve: ({ output }) => lineOf(output?.text ?? null),
    }),
    failedCallCount: t.int({
      description:
        'The number of its tool calls that failed: their status is ERRORED, INVALID or UNKNOWN. A generation can complete all the same.',
      resolve: ({ id }, _args, { loaders }) => loaders.failedCalls.load(id),
    }),
    usage: t.field({
      type: Usage,
      description: 'The tokens of the generation so far, without its child runs.',
      resolve: (generation) => generation,
    }),
    totalUsage: t.field({
      type: Usage,
      description:
        'The tokens so far of the generation and all its child runs, which budget.tokensPerGeneration limits.',
      complexity: { field: 1, multiplier: 2 },
      resolve: (generation, _args, { loaders }) => loaders.totalUsage.load(generation.id),
    }),
    totalCost: t.float({
      nullable: true,
      description:
        'The cost in USD of the generation and all its child runs so far, at the prices of now; null when a model of ' +
        'theirs has no price. A generation counts for the model of its last step.',
      complexity: { field: 1, multiplier: 2 },
      resolve: ({ id }, _args, { loaders }) => loaders.totalCosts.load(id),
    }),
    requiredAction: t.field({
      type: Required,
      nullable: true,
      description:
        'The open tool calls and approvals of the generation and its child runs; null when the generation ' +
        'waits for none.',
      resolve: async (generation, _args, { loaders }) => {
        if (isTerminal(generation.storedStatus)) return null
        const calls = await openCalls(generation, loaders)
        const toolCalls = calls.filter((call) => call.status === 'AWAITING_CLIENT')
        const asked = calls.filter((call) => call.status === 'AWAITING_APPROVAL')
        const owners = [...new Set(asked.map((call) => call.generationId!))]
        const approvals = (await Promise.all(owners.map((id) => loaders.approvalsOf.load(id)))).flat()
        return toolCalls.length + approvals.length > 0 ? { toolCalls, approvals } : null
      },
    }),
    steps: t.field({
      type: [refs.Step],
      description: 'The steps in order, at most 101.',
      args: {
        first: t.arg.int({ description: 'Maximum number of steps, 0 to 101. Default: 101.' }),
        after: t.arg.int({ description: 'Only steps with a greater index.' }),
      },
      complexity: firstOf(listMaxima['Generation.steps']!),
      resolve: async (generation, { first, after }, { loaders }) => {
        const size = sizeOf(first, listMaxima['Generation.steps']!)
        const steps = await loaders.stepsOf.load(generation.id)
        return steps.filter((step) => step.stepIndex > (after ?? 0)).slice(0, size)
      },
    }),
    toolCalls: t.field({
      type: [refs.ToolCall],
      description: 'The tool calls of the generation in the order of its steps, at most 500 in one page.',
      args: callPage(t, listMaxima['Generation.toolCalls']!),
      complexity: firstOf(listMaxima['Generation.toolCalls']!),
      resolve: async (generation, args, { loaders }) =>
        callsAfter(await loaders.callsOf.load(generation.id), args, listMaxima['Generation.toolCalls']!),
    }),
  }))
}

function addLog(refs: Refs, events: EventTypes): void {
  const { builder } = refs
  builder.objectField(refs.Generation, 'events', (t) =>
    t.field({
      type: events.EventConnection,
      description:
        'The events after a cursor, the same as those of the subscription generationEvents but without ' +
        'TEXT_DELTA. Fails with CURSOR_EXPIRED when the event of the cursor is no longer in the log.',
      args: {
        after: t.arg.string({
          description: 'The cursor of the last event that the client has. Default: from the first event.',
        }),
        first: t.arg.int({ description: 'Maximum number of events, 1 to 100. Default: 20.' }),
      },
      complexity: (args) => ({
        field: 1,
        multiplier: Math.min(args.first ?? pageSizes.default, pageSizes.maximum),
      }),
      resolve: async (generation: Generation, { after, first }, { ctx }) => {
        const limit = Math.max(1, Math.min(first ?? pageSizes.default, pageSizes.maximum))
        const log = await readEvents(ctx, generation, { after: after ?? null, first: limit })
        const edges = log.events.map((event) => {
          const cursor = encodeGenerationCursor(event)
          return { cursor, node: { ...event, cursor } as EventShape }
        })
        const pageInfo = {
          hasNextPage: log.more,
          // The log has no pages backwards.
          hasPreviousPage: false,
          startCursor: edges[0]?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
        }
        return { edges, pageInfo }
      },
    }),
  )
}
