/**
 * The messages that are sent: thin ones with ids, names and statuses; full ones also with arguments, masked, and for
 * approvals with the sentence about the call.
 */
import { type JsonObject, writeJson } from '../../../core/json.ts'
import { shownCode } from '../../../core/signing.ts'
import { maskAt } from '../../../core/scrub.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import { summaryOf, type AskedTool } from '../../approvals/index.ts'
import {
  approvalRequested,
  cursorAt,
  encodeFeedCursor,
  encodeGenerationCursor,
  eventKinds,
  newestPosition,
  publicName,
  type EventType,
  type RecordedEvent,
} from '../../events/index.ts'
import type { Message } from './send.ts'
import { codeOf, tokenOf, verdictPath, type VerdictLink } from './verdict-link.ts'
import type { Recipient } from './webhook.ts'

/** The id of an event for receivers: another incarnation of the log may use the same numbers again. */
function messageId({ incarnation, id }: RecordedEvent): string {
  return `evt_${incarnation ?? 'first'}_${id}`
}

interface Options {
  full: boolean
  /** Whose links the messages of questions include, and the webhook they are sent to. */
  links: { webhookId: string; recipients: readonly Recipient[] } | null
  /** Whether the events are of the log of one generation, whose cursors are another kind. */
  ofGeneration: boolean
}

/** The messages of events, in their order. Two statements at most. */
export async function messagesOf(
  services: Pick<Services, 'db' | 'publicUrl' | 'masterKey'>,
  events: readonly RecordedEvent[],
  { full, links, ofGeneration }: Options,
): Promise<Message[]> {
  const [details, traces] = await Promise.all([detailsOf(services, events, full), tracesOf(services, events)])
  return events.map((event) => {
    const { projectId, generationId, seq } = event
    const found = details.get(subjectOf(event) ?? '')
    const asks = links && found?.asked && event.type === approvalRequested.type
    const data = {
      cursor: ofGeneration ? encodeGenerationCursor(event) : encodeFeedCursor(event),
      projectId,
      generationId,
      seq,
      ...event.data,
      ...found?.shown,
      ...(asks ? { verdictLinks: linksOf(services, found.asked!, links) } : {}),
    }
    return {
      trace: traces.get(ownerOf(event) ?? ''),
      id: messageId(event),
      body: writeJson({ type: publicName(event.type), timestamp: event.at.toISOString(), data }),
    }
  })
}

/** A message that no event caused, to try an endpoint. */
export function testMessage(
  { clock }: Pick<Services, 'clock'>,
  { projectId, webhookId }: { projectId: string; webhookId: string },
  unique: string,
): Message {
  const data = { projectId, webhookId }
  return {
    id: `evt_test_${unique}`,
    body: writeJson({ type: 'webhook.test', timestamp: new Date(clock.now()).toISOString(), data }),
  }
}

/**
 * A made-up event of a type, as a webhook of these settings is sent one: `test` is true in it, and its ids are of
 * nothing. Its cursor is that of the newest event, so that who keeps it misses nothing.
 */
export async function sampleMessage(
  services: Pick<Services, 'db' | 'pubsub' | 'publicUrl' | 'clock'>,
  { projectId, type, full }: { projectId: string; type: EventType; full: boolean },
  unique: string,
): Promise<Message> {
  const now = services.clock.now()
  const { traits, sample } = eventKinds[type]
  const isOfRun = traits.inGeneration
  const { approvalId } = sample as { approvalId?: string }
  const asked = {
    expiresAt: new Date(now + 300_000).toISOString(),
    link: `${services.publicUrl()}/approvals/${approvalId}`,
  }
  const data = {
    test: true,
    cursor: await cursorAt(services, projectId, await newestPosition(services)),
    projectId,
    generationId: isOfRun ? 'gen_1' : null,
    seq: isOfRun ? 1 : null,
    ...sample,
    ...(approvalId ? asked : {}),
    ...(full && approvalId ? { summary: 'pay', arguments: {} } : {}),
  }
  return {
    id: `evt_test_${unique}`,
    body: writeJson({ type: publicName(type), timestamp: new Date(now).toISOString(), data }),
  }
}

/** The approval of an event, else its call. */
function subjectOf({ data }: RecordedEvent): string | null {
  const { approvalId, toolCallId } = data as { approvalId?: string; toolCallId?: string }
  return approvalId ?? toolCallId ?? null
}

/** The run of an event, else its call outside a run. */
function ownerOf({ generationId, data }: RecordedEvent): string | null {
  return generationId ?? (data as { toolCallId?: string }).toolCallId ?? null
}

/** The trace contexts of the runs and calls of events, by their ids. */
async function tracesOf(
  { db }: Pick<Services, 'db'>,
  events: readonly RecordedEvent[],
): Promise<Map<string, TraceContext>> {
  const ids = [...new Set(events.map(ownerOf).filter((id) => id !== null))]
  if (ids.length === 0) return new Map()
  const rows = await query<{ id: string; trace: TraceContext }>(
    db,
    sql`select id, trace from generations where id in ${ids} and trace is not null
      union all
      select id, trace from tool_calls where id in ${ids} and trace is not null`,
  )
  return new Map(
    rows.map(({ id, trace: { traceparent, tracestate } }) => [
      id,
      { traceparent, ...(tracestate ? { tracestate } : {}) },
    ]),
  )
}

/** A question that may be decided with a link now. */
type LinkedQuestion = Pick<VerdictLink, 'approvalId' | 'digest' | 'endMs'>

/** A link and a code for each recipient; the code is not part of the link. */
function linksOf(
  { masterKey, publicUrl }: Pick<Services, 'masterKey' | 'publicUrl'>,
  asked: LinkedQuestion,
  { webhookId, recipients }: NonNullable<Options['links']>,
): JsonObject[] {
  return recipients.map(({ principalId, address }) => {
    const link = { ...asked, webhookId, principalId }
    return {
      principalId,
      address,
      url: `${publicUrl()}${verdictPath}${tokenOf(masterKey, link)}`,
      code: shownCode(codeOf(masterKey, link)),
    }
  })
}

interface Found {
  id: string
  digest: string | null
  byLink: boolean
  expiresMs: number | null
  arguments: JsonObject
  masked: string[][] | null
  runtimeName: string
  question: AskedTool | null
}

interface Details {
  shown: JsonObject
  asked: LinkedQuestion | null
}

/** What the rows of approvals and calls add, by their ids. */
async function detailsOf(
  { db, publicUrl }: Pick<Services, 'db' | 'publicUrl'>,
  events: readonly RecordedEvent[],
  full: boolean,
): Promise<Map<string, Details>> {
  const ids = [...new Set(events.map(subjectOf).filter((id) => id !== null))]
  const approvals = ids.filter((id) => id.startsWith('apr_'))
  const calls = full ? ids.filter((id) => id.startsWith('call_')) : []
  if (approvals.length + calls.length === 0) return new Map()
  const shown = full ? sql`coalesce(edited_arguments, arguments)` : sql`null::jsonb`
  const rows = await query<Found>(
    db,
    sql`select id, (extract(epoch from expires_at) * 1000)::float8 as "expiresMs", ${shown} as arguments, masked,
        runtime_name as "runtimeName", ${full ? sql`question` : sql`null::jsonb`} as question, digest, coalesce(status = 'PENDING' and expires_at > now() and requirement->'verdictLinks' = 'true', false)
          as "byLink"
      from approvals
      where id in ${approvals.length > 0 ? approvals : ['']}
      union all
      select id, null, arguments, masked, runtime_name, null, null, false
      from tool_calls
      where id in ${calls.length > 0 ? calls : ['']}`,
  )
  return new Map(
    rows.map((row): [string, Details] => {
      const args = full ? { arguments: maskAt(row.arguments, row.masked) } : {}
      const sentence = full ? { summary: summaryOf({ ...row, editedArguments: null }).text } : {}
      if (row.expiresMs === null) return [row.id, { shown: args, asked: null }]
      const expiresAt = new Date(row.expiresMs).toISOString()
      const asked = { approvalId: row.id, digest: row.digest!, endMs: row.expiresMs }
      return [
        row.id,
        {
          shown: { expiresAt, link: `${publicUrl()}/approvals/${row.id}`, ...sentence, ...args },
          asked: row.byLink ? asked : null,
        },
      ]
    }),
  )
}
