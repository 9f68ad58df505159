/**
 * What every table and each of its columns of text or JSON holds of a person or a run: when its rows go, with what they go,
 * and what erasure takes. Legal holds, the sweeps of retention and removals follow it. A table or column without its line
 * here does not compile, or fails the structure test.
 */
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { apiKeys, idempotencyKeys, installation, keyUses, projects, sessions, subjects } from './access.ts'
import { agents, agentVersions } from './agents.ts'
import { approvals, grants } from './approvals.ts'
import { auditEntries } from './audit.ts'
import { resourceSubscriptions, sessionLogLevels } from './bridge.ts'
import { connectorMessages, connectors } from './connectors.ts'
import { events } from './events.ts'
import { blobWrites, files } from './files.ts'
import { gateChanges } from './gates.ts'
import {
  awaitedRequests,
  conversationPlaces,
  generations,
  modelAttempts,
  modelPrices,
  providers,
  steps,
  threads,
} from './generations.ts'
import { pauses } from './pauses.ts'
import { rateBuckets, rateLimits } from './rates.ts'
import {
  dataRemovals,
  feedStarts,
  legalHolds,
  removedBlobs,
  removedGenerations,
  retentions,
} from './retention.ts'
import { secrets } from './secrets.ts'
import { toolCalls, tools, toolVersions } from './tools.ts'
import { triggers, triggerStarts } from './triggers.ts'
import { upstreamLogins, upstreams, upstreamTokens } from './upstreams.ts'
import { slackIntegrations, slackMessages, slackUsers, verdictTries } from './verdicts.ts'
import { webhookCursors, webhookDeliveries, webhookReceipts, webhooks } from './webhooks.ts'

/** What a column holds. */
export type Content =
  /** Ids, states, times, hashes and what is encrypted. Nothing that anybody says is in it. */
  | 'fact'
  /** What is set up in the project, or said in deciding about it. It stays when a person is erased. */
  | 'setting'
  /** What a person or a run has said, given or got. Nothing of it is left of whom it was that is erased. */
  | 'content'

/** What a row goes with. */
export type Whole = 'run' | 'call' | 'approval' | 'event' | 'webhook'

/** The setting of a project's retention under which a row goes by its age. */
export type Days = 'runDays' | 'eventDays' | 'fileDays' | 'deliveryDays' | 'auditDays'

interface Traits<Column extends string = string> {
  /** A step of the sweep removes it by age, unless a hold keeps it. */
  under?: Days
  /**
   * It goes in the transaction that removes the run, call, approval, event or webhook whose id the column has, whatever its age.
   * By hand: its column does not say whose it is, so a statement of its own finds it.
   */
  with?: Partial<Record<Whole, Column | 'by hand'>>
  /** It ends by a clock of its own, with or without a hold: by when. */
  soon?: string
  /**
   * When a person is erased whose id the column has, the rows go (`ROWS`), or the id takes the place of their contents
   * (`CONTENTS`).
   */
  erased?: { by: Column; what: 'ROWS' | 'CONTENTS' }
}

type Columns<Table extends PgTable> = Table['_']['columns']

/** The names of the columns of text or JSON, and of words that are searched for. The ids of row and project are facts. */
type Texts<Table extends PgTable> = {
  [Name in keyof Columns<Table> & string]: Columns<Table>[Name]['_']['dataType'] extends 'string' | 'custom'
    ? Name extends 'id' | 'projectId'
      ? never
      : Name
    : never
}[keyof Columns<Table> & string]

/** Each column is in one of the lists: what is left out is missing. */
type Lists<Every, Fact, Setting, Said> = {
  fact?: readonly Fact[]
  setting?: readonly Setting[]
  content?: readonly Said[]
} & ([Exclude<Every, Fact | Setting | Said>] extends [never]
  ? unknown
  : { missing: Exclude<Every, Fact | Setting | Said> })

export interface TableTraits extends Traits {
  /** As the database names it. */
  name: string
  table: PgTable
  /** By the names of the columns in the database. */
  columns: ReadonlyMap<string, Content>
}

function traitsOf<
  Table extends PgTable,
  Fact extends Texts<Table> = never,
  Setting extends Texts<Table> = never,
  Said extends Texts<Table> = never,
>(
  table: Table,
  traits: Traits<keyof Columns<Table> & string>,
  lists: Lists<Texts<Table>, Fact, Setting, Said>,
): TableTraits {
  const columns = getTableColumns(table)
  const named = (name: string) => columns[name]!.name
  const told = Object.entries(lists as Record<Content, readonly string[]>)
  const ids = ['id', 'projectId'].filter((name) => columns[name]?.dataType === 'string')
  const whole = Object.entries(traits.with ?? {}).map(([what, by]) => [
    what,
    by === 'by hand' ? by : named(by),
  ])
  return {
    ...traits,
    ...(traits.with ? { with: Object.fromEntries(whole) } : {}),
    ...(traits.erased ? { erased: { ...traits.erased, by: named(traits.erased.by) } } : {}),
    name: getTableName(table),
    table,
    columns: new Map([
      ...ids.map((name) => [named(name), 'fact'] as const),
      ...told.flatMap(([content, names]) => names.map((name) => [named(name), content as Content] as const)),
    ]),
  }
}

/** Rows of what is set up: they stay as long as that. */
const stays = {}

export const tableTraits: readonly TableTraits[] = [
  // What people and runs leave.
  traitsOf(
    generations,
    { under: 'runDays', with: { run: 'by hand' } },
    {
      fact: [
        'agentId',
        'threadId',
        'status',
        'requestedBy',
        'requester',
        'trace',
        'parentId',
        'parentCallId',
        'rootId',
        'retryOfId',
        'stopReason',
        'errorCode',
        'model',
        'modelKind',
      ],
      content: [
        'settings',
        'input',
        'nextStep',
        'errorMessage',
        'outputText',
        'outputObject',
        'cancelReason',
        'search',
      ],
    },
  ),
  traitsOf(
    threads,
    { under: 'runDays', with: { run: 'by hand' } },
    { fact: ['agentId', 'createdBy', 'waitingId'], content: ['externalId', 'messages', 'waitingMessages'] },
  ),
  traitsOf(
    steps,
    { with: { run: 'generationId' } },
    {
      fact: ['generationId', 'model', 'modelKind', 'finishReason', 'usage'],
      content: ['parts', 'surface', 'toolChoice', 'notice', 'elided', 'leftOut'],
    },
  ),
  traitsOf(
    modelAttempts,
    { with: { run: 'generationId' } },
    { fact: ['generationId', 'agentId', 'model', 'usage', 'errorCode'], content: ['errorMessage'] },
  ),
  traitsOf(
    awaitedRequests,
    { with: { run: 'generationId' } },
    { fact: ['principalId', 'operation', 'requestHash', 'generationId'] },
  ),
  traitsOf(
    conversationPlaces,
    { with: { run: 'generationId' } },
    { fact: ['principalId', 'hash', 'generationId'] },
  ),
  traitsOf(
    toolCalls,
    { under: 'runDays', with: { run: 'by hand', call: 'by hand' } },
    {
      fact: [
        'generationId',
        'providerCallId',
        'attempts',
        'source',
        'toolId',
        'kind',
        'action',
        'definitionHash',
        'childId',
        'status',
        'errorCode',
        'outputHash',
        'requestedBy',
        'requester',
        'trace',
        'agentId',
        'threadId',
        'requestHash',
        'approvalId',
        'grantId',
        'resolution',
        'resolvedBy',
      ],
      setting: ['agentGate'],
      content: [
        'runtimeName',
        'arguments',
        'argumentOrder',
        'rawArguments',
        'attachments',
        'result',
        'asked',
        'editedKeys',
        'masked',
      ],
    },
  ),
  traitsOf(
    approvals,
    { with: { run: 'generationId', call: 'toolCallId' } },
    {
      fact: [
        'toolCallId',
        'generationId',
        'agentId',
        'threadId',
        'toolId',
        'action',
        'definitionHash',
        'status',
        'digest',
        'requestedBy',
        'onApprove',
        'voidReason',
      ],
      setting: ['requirement'],
      // Names and addresses of those who voted go with these, too: see erasePerson.
      content: [
        'runtimeName',
        'arguments',
        'editedArguments',
        'masked',
        'question',
        'votes',
        'claim',
        'search',
      ],
    },
  ),
  traitsOf(
    verdictTries,
    { with: { approval: 'approvalId' } },
    { fact: ['approvalId', 'webhookId', 'principalId'] },
  ),
  traitsOf(
    slackMessages,
    { with: { approval: 'approvalId' } },
    { fact: ['approvalId', 'integrationId', 'channel', 'ts', 'shown'] },
  ),
  // Names of files are in events that belong to no run, and are erased there.
  traitsOf(
    events,
    { under: 'eventDays', with: { run: 'generationId' } },
    { fact: ['generationId', 'type'], content: ['data'] },
  ),
  traitsOf(
    files,
    { under: 'fileDays', with: { run: 'by hand', call: 'by hand' } },
    {
      fact: ['status', 'sha256', 'blobKey', 'etag', 'agentId', 'createdBy'],
      content: ['filename', 'contentType'],
    },
  ),
  traitsOf(
    webhookDeliveries,
    { under: 'deliveryDays', with: { event: 'eventId', webhook: 'webhookId' } },
    { fact: ['webhookId', 'cursorId', 'type', 'status'], content: ['answers'] },
  ),
  traitsOf(
    webhookReceipts,
    {
      with: { event: 'eventId', webhook: 'webhookId' },
      soon: '3 days, and the newest thousand of an endpoint',
    },
    { fact: ['webhookId', 'type'], content: ['answer'] },
  ),
  // Who did what is not erased: see the guide.
  traitsOf(
    auditEntries,
    { under: 'auditDays' },
    { fact: ['principalId', 'action', 'outcome'], setting: ['resource', 'details'] },
  ),
  traitsOf(
    subjects,
    { erased: { by: 'id', what: 'CONTENTS' } },
    { fact: ['role'], setting: ['issuer'], content: ['subject', 'name'] },
  ),
  traitsOf(
    sessions,
    { soon: 'its end', erased: { by: 'principalId', what: 'ROWS' } },
    { fact: ['hash', 'principalId', 'method', 'role'], content: ['remoteAddress', 'userAgent'] },
  ),

  // What is on its way, or counts for a time.
  traitsOf(
    idempotencyKeys,
    { soon: 'a day' },
    { fact: ['principalId', 'operation', 'requestHash', 'resultId'], content: ['key'] },
  ),
  traitsOf(
    connectorMessages,
    { soon: 'its answer' },
    { fact: ['takenBy'], setting: ['connector'], content: ['message', 'answer'] },
  ),
  traitsOf(connectors, { soon: 'a day without a sign' }, { fact: ['instance'], setting: ['name'] }),
  traitsOf(
    resourceSubscriptions,
    { soon: 'the end of the session' },
    { fact: ['threadId'], content: ['uri'] },
  ),
  traitsOf(sessionLogLevels, { soon: 'the end of the session' }, { fact: ['threadId', 'level'] }),
  traitsOf(triggerStarts, { soon: '8 days' }, { fact: ['triggerId', 'generationId'], content: ['key'] }),
  traitsOf(
    upstreamLogins,
    { soon: 'ten minutes' },
    { fact: ['stateHash', 'upstreamId', 'sealed', 'browserHash', 'startedBy'] },
  ),
  traitsOf(rateBuckets, { soon: 'it is full again' }, { fact: ['name'] }),
  traitsOf(blobWrites, { soon: 'the bytes are gone' }, { fact: ['key', 'fileId'] }),
  traitsOf(removedBlobs, { soon: 'the bytes are gone' }, { fact: ['key'] }),

  // What is set up, and what was decided about it.
  traitsOf(projects, stays, { setting: ['name'] }),
  traitsOf(apiKeys, stays, {
    fact: ['hash', 'prefix', 'role', 'agentId', 'joinedBy', 'account', 'person', 'createdBy'],
    setting: ['name', 'policy'],
  }),
  traitsOf(keyUses, stays, { fact: ['keyId'] }),
  traitsOf(installation, stays, { fact: ['commitShift', 'incarnation', 'earlier', 'fingerprint'] }),
  traitsOf(agents, stays, { setting: ['name', 'definition'] }),
  traitsOf(agentVersions, stays, { fact: ['agentId', 'createdBy'], setting: ['name', 'definition'] }),
  traitsOf(tools, stays, { fact: ['kind'], setting: ['name', 'definition'] }),
  // Those of tools that a run brought along go with it.
  traitsOf(
    toolVersions,
    { with: { run: 'by hand' } },
    { fact: ['toolId', 'createdBy'], content: ['definition'] },
  ),
  traitsOf(grants, stays, {
    fact: [
      'approvalId',
      'toolId',
      'action',
      'definitionHash',
      'scope',
      'argumentsHash',
      'agentId',
      'threadId',
      'requestedBy',
      'grantedBy',
      'revokedBy',
    ],
    setting: ['runtimeName', 'schema'],
  }),
  traitsOf(gateChanges, stays, {
    fact: ['target', 'status', 'proposedBy', 'decidedBy'],
    setting: ['change', 'note'],
  }),
  traitsOf(pauses, stays, { fact: ['target', 'pausedBy', 'endedBy'], setting: ['targetName', 'reason'] }),
  traitsOf(secrets, stays, { fact: ['sealed'], setting: ['name', 'allowedHosts'] }),
  traitsOf(providers, stays, {
    fact: ['kind'],
    setting: ['name', 'baseUrl', 'secretName', 'defaultModel', 'capabilities'],
  }),
  traitsOf(modelPrices, stays, { setting: ['model'] }),
  traitsOf(rateLimits, stays, { fact: ['scope', 'targetId'] }),
  traitsOf(triggers, stays, {
    fact: ['agentId', 'kind', 'status', 'secret', 'previousSecret', 'requestedBy', 'lastRunId'],
    setting: ['name', 'prompt', 'cron', 'timeZone', 'lastError'],
  }),
  traitsOf(upstreams, stays, {
    fact: ['status', 'catalogHash', 'listener'],
    setting: ['config', 'verdict', 'error', 'catalog'],
  }),
  traitsOf(upstreamTokens, stays, {
    fact: ['upstreamId', 'sealed', 'connectedBy', 'client'],
    setting: ['metadataUrl'],
  }),
  // The callback of a run or call goes with that.
  traitsOf(
    webhooks,
    { with: { run: 'by hand', call: 'by hand' } },
    {
      fact: ['secret', 'previousSecret', 'status', 'disabledReason', 'callbackOf', 'createdBy'],
      setting: ['description', 'types', 'recipients'],
      content: ['url'],
    },
  ),
  traitsOf(
    webhookCursors,
    { with: { webhook: 'webhookId' } },
    { fact: ['webhookId', 'status', 'generationId', 'toolCallId', 'mark'], setting: ['types'] },
  ),
  traitsOf(slackIntegrations, stays, {
    fact: ['teamId', 'botToken', 'signingSecret', 'status', 'disabledReason', 'mark', 'createdBy'],
    setting: ['teamName', 'channel', 'fault'],
  }),
  traitsOf(slackUsers, stays, { fact: ['principalId', 'createdBy'], setting: ['slackUserId'] }),

  // Retention itself.
  traitsOf(retentions, stays, { fact: ['status', 'lastRemoved', 'allRemoved'] }),
  traitsOf(feedStarts, stays, { fact: ['mark'] }),
  traitsOf(removedGenerations, stays, { fact: ['agentId', 'requestedBy', 'status'], setting: ['facts'] }),
  traitsOf(dataRemovals, stays, {
    fact: ['requester', 'requestedBy', 'removed', 'kept'],
    setting: ['reason'],
  }),
  traitsOf(legalHolds, stays, { fact: ['target', 'putBy', 'liftedBy'], setting: ['reason'] }),
]

/** Tables whose rows go with a whole, and the column that has its id. */
export function partsOf(whole: Whole): { name: string; by: string; traits: TableTraits }[] {
  return tableTraits.flatMap((traits) => {
    const by = traits.with?.[whole]
    return by && by !== 'by hand' ? [{ name: traits.name, by, traits }] : []
  })
}
