/** The types of generations and steps on the wire. */
import { encodeGenerationCursor } from '../../domain/events/index.ts'
import {
  isTerminal,
  readEvents,
  shownStatus,
  textOf,
  type Generation,
  type Step,
} from '../../domain/generations/index.ts'
import type { Approval } from '../../domain/approvals/index.ts'
import type { ToolCall } from '../../domain/tool-calls/index.ts'
import { pageSizes } from './builder.ts'
import { callPage, callsAfter, firstOf, sizeOf } from './call-pages.ts'
import { hasPrefix } from './connections.ts'
import type { EventTypes } from './events.ts'
import { openCalls } from './generation-chain.ts'
import { listMaxima } from './list-bounds.ts'
import { addGenerationEnums, type GenerationEnums } from './generation-enums.ts'
import type { Fact, Refs } from './refs.ts'

/** Implements Generation and Step with all that hangs on them; answers the enums that queries need too. */
export function addGenerationTypes(refs: Refs, events: EventTypes): GenerationEnums {
  const enums = addGenerationEnums(refs)
  addStepType(refs)
  addGenerationType(refs, enums)
  addLog(refs, events)
  return enums
}

const kindNotice = 'openai, anthropic, google, compatible, or rehearsal: rule-based and not an AI.'

function modelType(refs: Refs) {
  return refs.builder.objectRef<{ name: string; kind: string }>('Model').implement({
    description: 'What answered.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'provider/model.' }),
      kind: t.string({
        description: kindNotice,
        resolve: (model) => (model.kind === 'builtin' ? 'REHEARSAL' : model.kind.toUpperCase()),
      }),
      isAi: t.boolean({
        description: 'false for the rehearsal model.',
        resolve: (model) => model.kind !== 'builtin',
      }),
    }),
  })
}

function usageType(refs: Refs) {
  return refs.builder.objectRef<Pick<Generation, 'inputTokens' | 'outputTokens'>>('Usage').implement({
    description: 'Tokens, as reported or estimated.',
    fields: (t) => ({
      inputTokens: t.exposeFloat('inputTokens', { description: 'Sent to the model.' }),
      outputTokens: t.exposeFloat('outputTokens', { description: 'Written by the model.' }),
      totalTokens: t.float({ description: 'Both.', resolve: (u) => u.inputTokens + u.outputTokens }),
    }),
  })
}

function addStepType(refs: Refs): void {
  const { builder } = refs
  refs.Step.implement({
    description: 'One model answer and its tool calls.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'step_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with step_.' }),
      index: t.exposeInt('stepIndex', { description: 'Counts from 1.' }),
      attempt: t.exposeInt('attempt', { description: 'The attempt that succeeded, from 1.' }),
      text: t.string({ description: 'What the model said.', resolve: (step) => textOf(step.parts) }),
      reasoning: t.string({
        description: 'What the model told of its reasoning.',
        resolve: (step) => step.parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
      }),
      finishReason: t.exposeString('finishReason', {
        description: 'As the provider told it: stop, length, content-filter, tool-calls, other.',
      }),
      toolCalls: t.field({
        type: [refs.ToolCall],
        description: 'The calls of this step, in order.',
        args: callPage(t, listMaxima['Step.toolCalls']!),
        complexity: firstOf(listMaxima['Step.toolCalls']!),
        resolve: async (step, args, { loaders }) => {
          const calls = await loaders.callsOf.load(step.generationId)
          const own = calls.filter((call) => call.stepIndex === step.stepIndex)
          return callsAfter(own, args, listMaxima['Step.toolCalls']!)
        },
      }),
      notice: t.exposeString('notice', {
        nullable: true,
        description: 'What the loop told the model in this step.',
      }),
      elided: t.expose('elided', {
        type: 'JSONObject',
        nullable: true,
        description: 'What of the history was left out, counted.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was committed.' }),
    }),
  })
}

function addGenerationType(refs: Refs, Status: GenerationEnums): void {
  const { builder } = refs
  const Model = modelType(refs)
  const Usage = usageType(refs)
  builder.objectField(refs.Step, 'model', (t) =>
    t.field({ type: Model, description: 'What answered.', resolve: (step: Step) => step.model }),
  )
  builder.objectField(refs.Step, 'usage', (t) =>
    t.field({ type: Usage, description: 'Tokens of this step.', resolve: (step: Step) => step.usage }),
  )
  const GenerationError = builder.objectRef<NonNullable<Generation['error']>>('GenerationError').implement({
    description: 'Why a generation failed.',
    fields: (t) => ({
      code: t.expose('code', { type: Status.failure, description: 'For programs.' }),
      message: t.exposeString('message', { description: 'For people.' }),
    }),
  })
  const Output = builder.objectRef<NonNullable<Generation['output']>>('GenerationOutput').implement({
    description: 'What a completed generation gave.',
    fields: (t) => ({
      text: t.exposeString('text', { nullable: true, description: 'The final text.' }),
      object: t.field({
        type: 'JSON',
        nullable: true,
        description: 'The structured output.',
        resolve: (output) => output.object,
      }),
    }),
  })
  const Required = builder
    .objectRef<{ toolCalls: ToolCall[]; approvals: Approval[] }>('RequiredAction')
    .implement({
      description: 'What somebody must do before the generation goes on. Both lists are always there.',
      fields: (t) => ({
        toolCalls: t.expose('toolCalls', {
          type: [refs.ToolCall],
          description: 'Client calls: run them and submitToolOutputs.',
        }),
        approvals: t.expose('approvals', {
          type: [refs.Approval],
          description: 'Gated calls that wait for a verdict: decideApproval.',
        }),
      }),
    })
  refs.Generation.implement({
    description: 'One run of an agent.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'gen_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with gen_.' }),
      status: t.field({
        type: Status.status,
        description: 'Where it stands.',
        resolve: async (generation, _args, { loaders }) => {
          const { storedStatus } = generation
          return shownStatus(
            storedStatus,
            storedStatus === 'WAITING' ? await openCalls(generation, loaders) : [],
          )
        },
      }),
      stopReason: t.expose('stopReason', {
        type: Status.stopReason,
        nullable: true,
        description: 'Why it ended, when COMPLETED.',
      }),
      truncated: t.exposeBoolean('truncated', { description: 'Whether a limit cut it short.' }),
      error: t.expose('error', {
        type: GenerationError,
        nullable: true,
        description: 'Why it failed, when FAILED.',
      }),
      output: t.expose('output', {
        type: Output,
        nullable: true,
        description: 'What it gave, when COMPLETED.',
      }),
      model: t.expose('model', {
        type: Model,
        nullable: true,
        description: 'What answered last; null before the first attempt.',
      }),
      usage: t.field({ type: Usage, description: 'Tokens so far.', resolve: (generation) => generation }),
      totalUsage: t.field({
        type: Usage,
        description: 'Tokens so far of it and all runs under it: what budget.tokensPerGeneration counts.',
        complexity: { field: 1, multiplier: 2 },
        resolve: (generation, _args, { loaders }) => loaders.totalUsage.load(generation.id),
      }),
      stepCount: t.exposeInt('stepCount', { description: 'Model steps committed so far.' }),
      agent: t.field({
        type: refs.Agent,
        nullable: true,
        description: 'The agent as it is now; null when it was deleted or may not be seen.',
        resolve: (generation, _args, { loaders }) => loaders.agents.load(generation.agentId),
      }),
      threadId: t.exposeID('threadId', {
        description: 'Start another generation with it to go on from here.',
      }),
      requiredAction: t.field({
        type: Required,
        nullable: true,
        description: 'What somebody must do, for it or for the runs under it; null when nothing is open.',
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
        description: 'The steps in order: all, for there are at most 101, or a page of them.',
        args: {
          first: t.arg.int({ description: 'At most so many, 0 to 101.' }),
          after: t.arg.int({ description: 'Only steps behind the one with this index.' }),
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
        description: 'The calls by step and place; further ones behind the last of a page.',
        args: callPage(t, listMaxima['Generation.toolCalls']!),
        complexity: firstOf(listMaxima['Generation.toolCalls']!),
        resolve: async (generation, args, { loaders }) =>
          callsAfter(await loaders.callsOf.load(generation.id), args, listMaxima['Generation.toolCalls']!),
      }),
      requestedBy: t.exposeID('requestedBy', { description: 'The key that started it.' }),
      cancelRequestedAt: t.expose('cancelRequestedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When its end was asked for.',
      }),
      cancelReason: t.exposeString('cancelReason', { nullable: true, description: 'Why, as given.' }),
      deadlineAt: t.expose('deadlineAt', {
        type: 'DateTime',
        description: 'When it expires. Time for which it, or a run under it, waits for a person is added.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When a worker first took it.',
      }),
      finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    }),
  })
}

function addLog(refs: Refs, events: EventTypes): void {
  const { builder } = refs
  const Log = builder
    .objectRef<{ nodes: Fact[]; endCursor: string | null; hasMore: boolean }>('GenerationEventPage')
    .implement({
      description: 'A page of the log, oldest first.',
      fields: (t) => ({
        nodes: t.field({
          type: [events.GenerationEvent],
          description: 'The events.',
          // Counted by the field that leads here.
          complexity: { field: 0, multiplier: 1 },
          resolve: (log) => log.nodes,
        }),
        endCursor: t.exposeString('endCursor', {
          nullable: true,
          description: 'Pass it as after to go on; null when the page is empty.',
        }),
        hasMore: t.exposeBoolean('hasMore', { description: 'Whether there is more right now.' }),
      }),
    })
  builder.objectField(refs.Generation, 'events', (t) =>
    t.field({
      type: Log,
      description:
        'The log after a cursor: the same events and cursors as the subscription, without text on its way. CURSOR_EXPIRED as there.',
      args: {
        after: t.arg.string({ description: 'A cursor of an event; from the beginning when left out.' }),
        first: t.arg.int({ description: 'At most 100; 20 when left out.' }),
      },
      complexity: (args) => ({
        field: 1,
        multiplier: Math.min(args.first ?? pageSizes.default, pageSizes.maximum),
      }),
      resolve: async (generation: Generation, { after, first }, { ctx }) => {
        const limit = Math.max(1, Math.min(first ?? pageSizes.default, pageSizes.maximum))
        const log = await readEvents(ctx, generation, { after: after ?? null, first: limit })
        const nodes = log.events.map((event) => ({ ...event, cursor: encodeGenerationCursor(event) }))
        return { nodes, endCursor: nodes.at(-1)?.cursor ?? null, hasMore: log.more }
      },
    }),
  )
}
