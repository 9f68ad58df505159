/** Retention in GraphQL: its settings, what it would remove, how far it is, and what is left of a removed run. */
import { idShape, optional } from '../../../core/shapes.ts'
import * as retention from '../../../domain/retention/index.ts'
import {
  dayMeanings,
  keptReasons,
  removedKinds,
  type CallFact,
  type KeptReason,
  type RemovedGeneration,
  type RemovedCounts,
  type RetentionPreview,
} from '../../../domain/retention/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { principalField } from './principals.ts'
import { addList } from '../builder/queries.ts'

/** The cost of a preview in points: statements that count up to 10,000 rows of each kind. */
const points = 300

const counted: Record<(typeof removedKinds)[number], string> = {
  runs: 'The number of generations, with those below them.',
  calls: 'The number of tool calls outside generations.',
  threads: 'The number of threads without generations.',
  events: 'The number of events of the project feed that belong to no generation.',
  files: 'The number of files.',
  deliveries: 'The number of webhook deliveries.',
  auditEntries: 'The number of audit entries.',
}

const stays: Record<KeptReason | 'CALLS', [name: string, description: string]> = {
  HELD: ['held', 'The number of root generations under a legal hold.'],
  OPEN: ['open', 'The number of root generations with something that has not ended.'],
  UNKNOWN: ['unknown', 'The number of root generations with an UNKNOWN call that is not resolved.'],
  RETRIED: ['retried', 'The number of root generations that a retry, which stays, begins with.'],
  IN_USE: ['inUse', 'The number of root generations whose thread has one that has not ended.'],
  RECENT: ['recent', 'The number of root generations with an event that is too young.'],
  CALLS: ['calls', 'The number of tool calls outside generations that stay.'],
}

export type RetentionTypes = ReturnType<typeof addRetention>

export function addRetention(refs: Refs) {
  const Counts = countsType(refs)
  const Kept = keptType(refs)
  addSettings(refs, Counts)
  addQueries(refs, previewType(refs, Counts, Kept))
  addRemovedGeneration(refs)
  return { Counts, Kept }
}

function countsType({ builder }: Refs) {
  return builder.objectRef<RemovedCounts>('RemovedCounts').implement({
    description: 'Numbers of rows that retention removes, by kind.',
    fields: (t) =>
      Object.fromEntries(
        removedKinds.map((kind) => [
          kind,
          t.float({ description: counted[kind], resolve: (all) => all[kind] ?? 0 }),
        ]),
      ),
  })
}

function keptType({ builder }: Refs) {
  return builder.objectRef<Partial<Record<KeptReason | 'CALLS', number>>>('KeptCounts').implement({
    description: 'Numbers of what is old enough and stays, by reason.',
    fields: (t) =>
      Object.fromEntries(
        ([...keptReasons, 'CALLS'] as const).map((reason) => {
          const [name, description] = stays[reason]
          return [name, t.int({ description, resolve: (all) => all[reason] ?? 0 })]
        }),
      ),
  })
}

type Counts = ReturnType<typeof countsType>
type Kept = ReturnType<typeof keptType>

function addSettings(refs: Refs, Counts: Counts): void {
  refs.Retention.implement({
    description:
      'The ages at which a project removes what is finished, and the state of its sweeps. Nothing is removed by default.',
    fields: (t) => ({
      ...Object.fromEntries(
        retention.retentionFields.map((name) => [
          name,
          t.int({
            nullable: true,
            description: `${dayMeanings[name]}; null for never.`,
            resolve: (row) => row[name],
          }),
        ]),
      ),
      version: t.exposeInt('version', { description: 'The number of changes, from 1; for expectedVersion.' }),
      sweeping: t.exposeBoolean('isSweeping', { description: 'Whether a sweep is under way.' }),
      lastStartedAt: t.expose('lastStartedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the last sweep began; null before the first.',
      }),
      lastFinishedAt: t.expose('lastFinishedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When a sweep last ended; null before the first.',
      }),
      nextAt: t.expose('nextAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the next sweep begins, or the one under way is taken over; null for never.',
      }),
      lastRemoved: t.expose('lastRemoved', {
        type: Counts,
        description: 'What the sweep under way, or the last one, has removed.',
      }),
      allRemoved: t.expose('allRemoved', {
        type: Counts,
        description: 'What was removed in the project in all.',
      }),
      removedUntil: t.expose('removedUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'When the newest removed generation was created: statistics of earlier times are not complete. Null while none was.',
      }),
    }),
  })
}

function previewType({ builder }: Refs, Counts: Counts, Kept: Kept) {
  return builder.objectRef<RetentionPreview>('RetentionPreview').implement({
    description: `The result of a sweep that was only counted. Each number is at most ${retention.mostPreviewed}.`,
    fields: (t) => ({
      removed: t.expose('removed', {
        type: Counts,
        description: 'The numbers of what is removed; of generations only the roots are counted.',
      }),
      kept: t.expose('kept', { type: Kept, description: 'The numbers of what is old enough and stays.' }),
    }),
  })
}

function addQueries(refs: Refs, Preview: ReturnType<typeof previewType>): void {
  const { builder } = refs
  builder.queryField('retention', (t) =>
    t.field({
      type: refs.Retention,
      description: 'The retention of a project: its settings and its last sweep. Permission: retention:Get.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => retention.getRetention(ctx, args),
    }),
  )
  builder.queryField('retentionPreview', (t) => {
    const day = (name: keyof typeof dayMeanings) =>
      t.arg.int({ description: `${dayMeanings[name]}; 0 for never. Default: the setting of the project.` })
    return t.field({
      type: Preview,
      description:
        'The numbers of what a sweep would remove now; nothing is removed. Permission: retention:Get.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        runDays: day('runDays'),
        eventDays: day('eventDays'),
        fileDays: day('fileDays'),
        deliveryDays: day('deliveryDays'),
        auditDays: day('auditDays'),
      },
      complexity: { field: points },
      resolve: (_root, args, { ctx }) => retention.previewRetention(ctx, args),
    })
  })
}

function addRemovedGeneration(refs: Refs): void {
  const { builder } = refs
  const Vote = builder
    .objectRef<NonNullable<CallFact['approval']>['votes'][number]>('RemovedVote')
    .implement({
      description: 'A vote on a call that was removed.',
      fields: (t) => ({
        by: t.exposeID('by', { description: 'The id of the API key or person that voted.' }),
        verdict: t.exposeString('verdict', { description: 'APPROVE or REJECT.' }),
        at: t.exposeString('at', { description: 'When the vote was given, as ISO 8601.' }),
      }),
    })
  const Call = builder.objectRef<CallFact>('RemovedCall').implement({
    description: 'What is left of a call of a removed generation: no arguments and no result.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the call.' }),
      name: t.exposeString('name', { description: 'The runtime name of the tool.' }),
      status: t.exposeString('status', { description: 'The outcome, a ToolCallStatus.' }),
      attempts: t.exposeInt('attempts', { description: 'How often the call was sent.' }),
      approvalStatus: t.string({
        nullable: true,
        description: 'The status of the newest approval of the call, an ApprovalStatus; null without one.',
        resolve: ({ approval }) => approval?.status ?? null,
      }),
      votes: t.field({
        type: [Vote],
        description: 'The votes on the newest approval of the call.',
        resolve: ({ approval }) => approval?.votes ?? [],
      }),
    }),
  })
  const Removed = builder.objectRef<RemovedGeneration>('RemovedGeneration').implement({
    description: 'What is left of a generation that was removed.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id that the generation had.' }),
      agentId: t.exposeID('agentId', { description: 'The id of its agent.' }),
      requester: t.field(
        principalField(refs, ({ requestedBy }) => requestedBy, 'The principal that started the generation.'),
      ),
      status: t.exposeString('status', { description: 'How the generation ended, a GenerationStatus.' }),
      stepCount: t.exposeInt('stepCount', { description: 'The number of its model steps.' }),
      callCount: t.exposeInt('callCount', { description: 'The number of its tool calls.' }),
      inputTokens: t.exposeFloat('inputTokens', { description: 'The tokens that its model has read.' }),
      outputTokens: t.exposeFloat('outputTokens', { description: 'The tokens that its model has written.' }),
      calls: t.expose('facts', {
        type: [Call],
        nullable: { list: true, items: false },
        description: 'The first calls of the generation; null when it was removed by age and not by request.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the generation was created.' }),
      finishedAt: t.expose('finishedAt', { type: 'DateTime', description: 'When the generation ended.' }),
      removedAt: t.expose('removedAt', { type: 'DateTime', description: 'When the generation was removed.' }),
    }),
  })
  addList(refs, {
    name: 'removedGenerations',
    type: connectionOf(Removed, 'RemovedGeneration'),
    description:
      'The generations that retention or a request has removed, newest first. Permission: generations:List.',
    args: {
      generationId: optional(idShape('The id of one generation, which begins with gen_.'), 'all'),
    },
    list: retention.listRemovedGenerations,
  })
}
