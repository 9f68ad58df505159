/**
 * Retention in GraphQL: its settings, what it would remove, how far it is, and what is left of a removed run; legal holds, and
 * removals of the data of a requester.
 */
import * as retention from '../../../domain/retention/index.ts'
import { idShape, optional } from '../../../core/shapes.ts'
import {
  dayMeanings,
  keptReasons,
  removedKinds,
  type CallFact,
  type KeptReason,
  type RemovedGeneration,
  retentionPreview,
  removedVote,
  retentionShape,
  removedCall,
  removedGeneration,
  listDataRemovals,
  listLegalHolds,
  legalHold,
  dataRemoval,
} from '../../../domain/retention/index.ts'
import { connectionOf } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'
import { z } from 'zod'

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

export function addRetention(refs: Refs): void {
  addCounts(refs)
  addKept(refs)
  refs.shapes.implement(refs.Retention, retentionShape)
  addQueries(refs)
  addRemovedGeneration(refs)
}

function addCounts({ RemovedCounts }: Refs): void {
  RemovedCounts.implement({
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

function addKept({ KeptCounts }: Refs): void {
  KeptCounts.implement({
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

function addQueries(refs: Refs): void {
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
      type: refs.shapes.object(retentionPreview),
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
  const Call = refs.shapes.implement(builder.objectRef<CallFact>('RemovedCall'), removedCall, (t) => ({
    approvalStatus: t.string({
      nullable: true,
      description: 'The status of the newest approval of the call, an ApprovalStatus; null without one.',
      resolve: ({ approval }) => approval?.status ?? null,
    }),
    votes: t.field({
      type: [refs.shapes.object(removedVote)],
      description: 'The votes on the newest approval of the call.',
      resolve: ({ approval }) => approval?.votes ?? [],
    }),
  }))
  const Removed = refs.shapes.implement(
    builder.objectRef<RemovedGeneration>('RemovedGeneration'),
    removedGeneration,
    (t) => ({
      calls: t.expose('facts', {
        type: [Call],
        nullable: { list: true, items: false },
        description: 'The first calls of the generation; null when it was removed by age and not by request.',
      }),
    }),
  )
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

export function addLegalHolds(refs: Refs): void {
  refs.shapes.implement(refs.LegalHold, legalHold)
  const connection = connectionOf(refs.LegalHold, 'LegalHold')
  addList(refs, {
    name: 'legalHolds',
    type: connection,
    description: 'The legal holds of a project, newest first. Permission: retention:Get.',
    args: {
      active: optional(
        z.boolean().describe('Whether only holds that were not lifted are returned.'),
        'false',
      ),
    },
    list: listLegalHolds,
  })
}

export function addDataRemovals(refs: Refs): void {
  refs.shapes.implement(refs.DataRemoval, dataRemoval)
  addList(refs, {
    name: 'dataRemovals',
    type: connectionOf(refs.DataRemoval, 'DataRemoval'),
    description: 'The removals of the data of a requester, newest first. Permission: retention:Get.',
    list: listDataRemovals,
  })
}
