/**
 * Creates a call outside any generation: commits it as EXECUTING or with its approval, those of one moment in one
 * statement, or joins an earlier one.
 */
import { batchStatements } from '../../store/db/fast-statements.ts'
import {
  basisColumns,
  basisHolds,
  basisRow,
  type Basis,
  StaleReadError,
  areFree,
  pausesOf,
  stillPaused,
} from '../basis/index.ts'
import { writtenRows, selectRows, rowText, type Values } from '../../store/db/rows.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import {
  type Services,
  publishNews,
  assertUse,
  entryOf,
  rememberRequest,
  requesterOf,
  type Ctx,
} from '../access/index.ts'
import { insertEntriesOf, type NewAuditEntry } from '../audit/index.ts'
import {
  eventColumns,
  insertEventRows,
  toolCallStarted,
  insertProjectEvents,
  withRequester,
} from '../events/index.ts'
import {
  insertDirectCalls,
  toolCallOf,
  type ToolCall,
  loadCall,
  newestAttempt,
  targetsOf,
} from '../tool-calls/index.ts'
import { upstreamRowOf, type UpstreamRow } from '../upstream/index.ts'
import { newId } from '../../core/ids.ts'
import { AppError } from '../../core/errors.ts'
import { argumentOrderOf } from '../../core/key-order.ts'
import { momentNow, type Moment } from '../../core/time.ts'
import { atomically, isUniqueViolation, type Database } from '../../store/db/database.ts'
import { ConnectionLostError, isOutage } from '../../store/db/storage-error.ts'
import { type Lease, readBack, whenAnswered } from '../../store/work/leases.ts'
import { LeaseLostError } from '../../store/work/work.ts'
import { maskedPaths } from '../tools/index.ts'
import { insertCallback, takeCallbackPlace } from '../followers/index.ts'
import { notSent, settleLate } from './settle.ts'
import { isPaused } from './direct-store.ts'
import { passGate, type GatedRow, requestHash, requirementOf, type CallRequest } from './pass-gate.ts'

/** A call to be inserted. */
export interface NewCall {
  id: string
  /** The columns of the row `x`, all of them in every call of a statement. */
  keys: string[]
  /** Its row as JSON. */
  text: string
  entries: NewAuditEntry[]
}

/** A call as it was committed. */
export interface InsertedCall {
  call: ToolCall
  /** The row of an mcp tool's upstream. */
  upstream: UpstreamRow | null
}

type Uses = Pick<Services, 'db' | 'limits'>

/** What is inserted for a call with this row, if its basis still holds then. */
export function newCall(
  row: Values<typeof toolCalls> & { id: string },
  basis: Basis,
  entries: NewAuditEntry[],
): NewCall {
  const whole = { ...row, ...basisRow(basis) }
  return { id: row.id, keys: Object.keys(whole), text: rowText(toolCalls, whole), entries }
}

/** Commits a call as EXECUTING with its event: `insertCalls`, with others of the same moment. */
const insertSent = batchStatements(insertCalls, ({ text }: NewCall) => text.length)

/**
 * Commits the calls, with their audit entries, as EXECUTING by this process; without `isSent` as calls that wait, in the
 * status of their rows and with these parts. Null for a call whose basis does not hold any more, or that a pause holds and
 * that would be sent: nothing of it was written. An error of the connection does not tell whether anything was.
 */
export async function insertCalls(
  { db, limits }: Uses,
  calls: readonly NewCall[],
  {
    isSent = true,
    parts = [sql`e as (${insertEventRows(startedEvents)})`],
  }: { isSent?: boolean; parts?: SQL[] } = {},
): Promise<(InsertedCall | null)[]> {
  const rows = { keys: calls[0]!.keys, texts: calls.map(({ text }) => text), more: basisColumns }
  const entries = calls.flatMap(({ id, entries: own }) => own.map((entry) => ({ of: id, entry })))
  const written = await writtenRows<typeof toolCalls, { upstream: UpstreamRow | null }>(
    db,
    toolCalls,
    [
      sql`g as (${insertDirectCalls(rows, isSent ? limits.leaseMs : null, isSent ? sql`${basisHolds} and ${isFree}` : basisHolds)})`,
      ...parts,
      ...(entries.length > 0 ? [sql`a as (${insertEntriesOf(entries)})`] : []),
    ],
    isSent ? sql`, case when kind = 'mcp' then ${upstreamRowOf(sql`g.tool_id`)} end as upstream` : undefined,
  )
  const inserted = new Map(
    written.map(({ upstream = null, ...own }) => [own.id, { call: toolCallOf(own), upstream }]),
  )
  return calls.map(({ id }): InsertedCall | null => inserted.get(id) ?? null)
}

const isFree = areFree(sql`x.project_id`, sql`x.tool_id`, sql`x.agent_id`)

const startedEvents = sql`select project_id, null::text as generation_id, null::int as seq,
  ${eventColumns(toolCallStarted, {
    toolCallId: sql`g.id`,
    name: sql`g.runtime_name`,
    attempt: sql`g.attempt`,
  })}, g.requested_by
  from g`

export interface CreatedCall {
  call: ToolCall
  /** True when an earlier request created the call; that request's process runs it. */
  joined: boolean
  /** The lease under which this process sends the call; null when the call waits or was joined. */
  lease: Lease | null
  /** When the statement was sent that created it, and found no pause. */
  begunAt?: Moment
  /** The row of an mcp tool's upstream, from the statement that created the call; null: none, or not read. */
  upstream: UpstreamRow | null
}

/**
 * Commits the call as EXECUTING, to be sent by this process, as AWAITING_APPROVAL with its approval, or, while a pause
 * holds it, as PROPOSED. A repeat with the same idempotency key returns the first call. So does, over the bridge and
 * without a key, the same request of the same caller while the first call waits or its outcome was not fetched. Throws
 * StaleReadError when the `basis` of the request does not hold, and LIMITED when this process stops: a request may ask for
 * many calls.
 */
export async function createCall(ctx: Ctx, request: CallRequest): Promise<CreatedCall> {
  if (ctx.heartbeat.isClosed())
    throw new AppError('LIMITED', 'This server stops. The call was not run: send it again.', {
      retryAfterMs: 1000,
    })
  const id = newId('toolCall')
  const since = momentNow()
  // Over the bridge an equal request may wait, though nothing stops this one any more. What was remembered is proved; when
  // that fails, the transaction of the gate finds it.
  const isProved = !request.via || request.basis.agentVersion !== undefined
  const isPlain = isProved && !request.idempotency && !request.callback && !requirementOf(request)
  const create = isPlain
    ? (tries: number) => createPlain(ctx, request, id, tries)
    : () => createAtGate(ctx, request, id, false)
  const { projectId, id: toolId } = request.tool
  await assertUse(ctx, 'TOOL', projectId, toolId)
  const created = await createWithOutageRetry(ctx, id, create).catch(async (error: unknown) => {
    const waits = error instanceof StaleReadError ? await createParked(ctx, request, id) : null
    if (waits) return waits
    if (error instanceof StaleReadError) await ctx.rates.giveBackUse(projectId, 'TOOL', toolId)
    throw error
  })
  if (!created.joined) publishNews(ctx, projectId)
  const isSent = !created.joined && created.call.status === 'EXECUTING'
  // A repeat uses the tool no second time, and a call that waits counts when it runs.
  if (!isSent) await ctx.rates.giveBackUse(projectId, 'TOOL', toolId)
  const lease = isSent ? ctx.heartbeat.of('tool_calls').keep({ id, epoch: 0 }, since) : null
  if (lease && created.isReadBack) await commitAfter(ctx, lease, created.call)
  return { ...created, lease, begunAt: since }
}

/** `isReadBack`: its commit was not acknowledged, and the row was found. */
type Created = Omit<CreatedCall, 'lease' | 'begunAt'> & { isReadBack?: true }

/**
 * Waits for the acknowledgement of a commit that comes after that of the call. A row that was read back is visible, and is
 * lost with its server when the connection ended while the COMMIT waited for a standby. Throws ConnectionLostError when the
 * lease ends before; then the call is reported as not sent.
 */
async function commitAfter(ctx: Ctx, lease: Lease, call: ToolCall): Promise<void> {
  try {
    await readBack(lease, lease.held.epoch, async () => {})
  } catch (error) {
    lease.end()
    void settleLate(ctx, newestAttempt(call), notSent)
    throw error instanceof LeaseLostError ? new ConnectionLostError(undefined, error) : error
  }
}

/**
 * When the connection fails before the database confirms, reads the row to find out whether the call was created: an
 * id is inserted at most once, and no worker can have claimed the call within the time of these tries.
 */
async function createWithOutageRetry(
  ctx: Ctx,
  id: string,
  create: (tries: number) => Promise<Created>,
): Promise<Created> {
  const patienceMs = ctx.limits.leaseMs / 2
  const start = performance.now()
  for (let tries = 0; ; tries++) {
    try {
      return await create(tries)
    } catch (error) {
      // A row of this id: of an earlier try, whose connection was lost.
      const lost = isOutage(error) || isUniqueViolation(error)
      if (!lost || performance.now() - start > patienceMs) throw error
    }
    const [row] = await whenAnswered(
      () => selectRows(ctx.leaseDb, toolCalls, sql`where id = ${id}`),
      patienceMs,
    )
    if (row) return { call: toolCallOf(row), joined: false, upstream: null, isReadBack: true }
  }
}

/** Creates the call as one that waits for the end of a pause; null when no pause holds it. */
async function createParked(ctx: Ctx, request: CallRequest, id: string): Promise<Created | null> {
  if (!(await isPaused(ctx.db, placeOf(request)))) return null
  return createWithOutageRetry(ctx, id, () => createAtGate(ctx, request, id, true))
}

function placeOf({ tool, via }: CallRequest) {
  return { projectId: tool.projectId, toolId: tool.id, agentId: via?.agentId ?? null }
}

function createAtGate(ctx: Ctx, request: CallRequest, id: string, paused: boolean): Promise<Created> {
  const { projectId } = request.tool
  return atomically(ctx.db, async (tx) => {
    // Its end waits for this transaction, and finds the call.
    if (paused && !(await stillPaused(tx, pausesOf(targetsOf(placeOf(request)))))) throw new StaleReadError()
    const earlier = request.idempotency && (await remembered(tx, ctx, projectId, request.idempotency, id))
    if (earlier) return { call: await loadCall(tx, earlier), joined: earlier !== id, upstream: null }
    const gate = await passGate(tx, ctx, request, id, paused)
    if ('known' in gate) return { call: gate.known, joined: true, upstream: null }
    if (request.callback) await takeCallbackPlace(tx, ctx, projectId)
    return insertGated(tx, ctx, request, id, gate)
  })
}

/**
 * Without a gate, a callback and an idempotency key: one statement, with other calls of the same moment. When it got no
 * response, the next one is the call's own: it may have to wait for the first.
 */
async function createPlain(ctx: Ctx, request: CallRequest, id: string, tries: number): Promise<Created> {
  const { via, basis } = request
  const none = via && { awaitedBy: ctx.principal.id, awaitedHash: requestHash(ctx, request, via) }
  const call = newCall({ id, ...rowOf(ctx, request) }, { ...basis, ...none }, droppedOf(ctx, request, id))
  const inserted = tries === 0 ? await insertSent(ctx, call) : (await insertCalls(ctx, [call]))[0]
  if (!inserted) throw new StaleReadError()
  return { ...inserted, joined: false }
}

/** The call as the gate has let it through or stopped it, in the transaction of the gate. */
async function insertGated(
  tx: Database,
  ctx: Ctx,
  request: CallRequest,
  id: string,
  { row, isSent, event }: GatedRow,
): Promise<Created> {
  const { projectId } = request.tool
  const call = newCall({ ...rowOf(ctx, request), ...row, id }, request.basis, droppedOf(ctx, request, id))
  const parts = [
    ...(event
      ? [sql`e as (${insertProjectEvents(projectId, withRequester(ctx.principal.id, [event]), sql`g`)})`]
      : []),
    ...insertCallback(ctx, { id, projectId }, request.callback),
  ]
  const [inserted] = await insertCalls({ db: tx, limits: ctx.limits }, [call], { isSent, parts })
  if (!inserted) throw new StaleReadError()
  return { ...inserted, joined: false }
}

/** The audit entry for preset keys that the caller sent and that were dropped; none without them. */
function droppedOf(ctx: Ctx, { tool, prepared }: CallRequest, id: string): NewAuditEntry[] {
  if (prepared.dropped.length === 0) return []
  const change = {
    projectId: tool.projectId,
    action: 'tools:Call',
    resource: `tool/${tool.id}`,
    details: { toolCallId: id, droppedPresetKeys: prepared.dropped },
  } as const
  return [entryOf(ctx, change)]
}

function remembered(
  tx: Database,
  ctx: Ctx,
  projectId: string,
  { operation, key, request }: NonNullable<CallRequest['idempotency']>,
  id: string,
): Promise<string | null> {
  const who = { projectId, principal: ctx.principal, operation, key }
  return rememberRequest(tx, { ...who, request }, id)
}

function rowOf(ctx: Ctx, request: CallRequest) {
  const { tool, prepared, via, attachments } = request
  const args = prepared.arguments
  return {
    projectId: tool.projectId,
    source: via ? 'BRIDGE' : 'DIRECT',
    toolId: tool.id,
    toolVersion: tool.version,
    runtimeName: tool.runtimeName,
    kind: tool.kind,
    action: tool.action,
    definitionHash: tool.definitionHash,
    arguments: args,
    argumentOrder: argumentOrderOf(args, tool.inputSchema),
    masked: maskedPaths(tool, args),
    requestedBy: ctx.principal.id,
    requester: requesterOf(ctx.principal),
    trace: ctx.trace ?? null,
    agentId: via?.agentId ?? null,
    agentGate: via?.agentGate ?? null,
    threadId: via?.threadId ?? null,
    attachments: attachments?.length ? attachments : null,
  }
}
