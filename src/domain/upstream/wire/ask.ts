/**
 * Sends one request to an upstream over the open connection that all requests share. Sends it again only when the
 * upstream certainly did not act on it.
 */
import type { Lease } from '../../../core/pool.ts'
import type { Services } from '../../access/index.ts'
import { authFor, stepUp } from '../oauth/auth.ts'
import { faultOfLogin, loginOfCall, loginOfLists, type PersonLogin } from '../oauth/person-logins.ts'
import { noticeChange } from '../changes.ts'
import { UpstreamFault, faultOf, isOwnError, mayHaveLostSession } from '../fault.ts'
import type { TokenOwner } from '../oauth/tokens.ts'
import { openLink, type Link } from './link.ts'
import { type UpstreamRow, type NegotiatedProtocol, loadRows } from '../state.ts'
import { targetOf } from '../target.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { onAbort } from '../../../core/time.ts'
import { hashJson, type Json, type JsonObject, readJson, writeJson } from '../../../core/json.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import { sql } from '../../../store/db/sql.ts'
import { isStorageError } from '../../../store/db/storage-error.ts'
import { EgressError } from '../../egress/index.ts'
import type { UpstreamConfig } from '../config.ts'
import { prepareRelay, type Relay } from './relay.ts'
import { wakeUpstreams } from '../save.ts'
import { trackDelivery, type Delivery } from './wire.ts'

/** Time to open a connection, negotiation included, in milliseconds. */
const openMs = 10_000

/**
 * Lends the shared connection and opens it when there is none. With `protocol` null the protocol is negotiated again. Nobody
 * shares the connection of a person's login; without `given` it is that with which lists are read.
 */
export async function borrowLink(
  services: Services,
  row: UpstreamRow,
  protocol: NegotiatedProtocol | null,
  given?: PersonLogin | null,
): Promise<Lease<Link>> {
  const [target, login] = await Promise.all([
    targetOf(services, row.projectId, row.config),
    given === undefined ? loginOfLists(services, row) : given,
  ])
  const key = `upstream ${row.id}@${row.configVersion} ${login ? `${login.person} ${login.id} ` : ''}${target.key}`
  return services.connections.lease(key, async () => {
    const onChanged = noticeChange(services, row.id)
    const auth = authFor(services, ownerOf(row, login), target)
    const options = { protocol, auth, onChanged, timeoutMs: openMs }
    const link = await openLink(services, target, options).catch(async (error: unknown) => {
      throw await faultOfLogin(services, login, faultOf(error))
    })
    link.onDown(() => services.connections.retire(link))
    return link
  })
}

/** The owner of the tokens of a connection. */
function ownerOf(row: UpstreamRow, login: PersonLogin | null): TokenOwner {
  if (!login) return row
  const { person, actor } = login
  return { ...row, person, ...(actor && { actor }) }
}

/**
 * True when the connection rests on outdated facts: its session no longer exists, or the server now speaks another
 * protocol version. Unless the error is the server's own, it did not act on the request.
 */
export function isStale(fault: UpstreamFault, link: Pick<Link, 'era'>): boolean {
  const { status, rpcCode } = fault.facts
  if (rpcCode === unsupportedVersion) return true
  if (fault.code !== 'http_error' && fault.code !== 'upstream_error') return false
  return status === 404 || status === 410 || status === 400 || (link.era === 'modern' && status === 405)
}

/** `UnsupportedProtocolVersionError` of the specification. */
const unsupportedVersion = -32022

/** The upstream needs input from its client before it continues (multi-round requests of MCP 2026-07-28). */
export interface InputRequired {
  inputRequests: JsonObject
  requestState: string | null
}

export interface UpstreamRequest {
  /** The id of the upstream, which is also the id of its tool. */
  id: string
  projectId: string
  /** The principal for whom it is made; absent for none. */
  requestedBy?: string
  /** For whom that one acts; null for itself. */
  actsFor?: string | null
  /** The tool call that it sends; absent for none. */
  callId?: string
  /** The row of the upstream, if it was read a moment ago. */
  row?: UpstreamRow | null | undefined
  /** The server that is meant: nothing is sent to one that has taken its place. */
  server?: Pick<UpstreamConfig, 'url' | 'headers'>
  /** Limit for connecting, sending and waiting together, in milliseconds. */
  timeoutMs: number
  signal?: AbortSignal | null
  /** What the MCP client declared; null when no MCP client is behind the request. */
  relay?: Relay | null
  /** Sent in `_meta`. */
  trace?: TraceContext | undefined
  /** Called just before the request is sent; nothing is sent when it returns false. */
  mayStart?: ((delayMs?: number) => boolean) | undefined
}

/** Sends the request over this connection. `timeoutMs` is the time that remains. */
type Send<Result> = (link: Link, options: SendOptions) => Promise<Result>

export interface SendOptions {
  timeoutMs: number
  signal: AbortSignal
  /** The upstream's row as read before the request was sent. */
  row: UpstreamRow
}

const maxTries = 3
/** Pause before retrying a server that refused the connection, in milliseconds. */
const secondTryMs = 250
/** The shortest time between two refreshes of this process because of failed calls: longer than one takes. Milliseconds. */
const betweenFailuresMs = 35_000

/**
 * Returns what `send` returns; throws an UpstreamFault, or an error of the database before anything is sent. Sets
 * `delivery.mayHaveRun` when the upstream may have acted on the request. With `harmless` a request whose connection was lost is sent again.
 */
export async function askUpstream<Result>(
  services: Services,
  request: UpstreamRequest,
  delivery: Delivery<Result>,
  send: Send<Result>,
  harmless = false,
): Promise<Result> {
  const until = Date.now() + request.timeoutMs
  const row = await openRow(services, request)
  const login = await loginOfCall(services, row, request)
  let protocol = row.protocol
  let earlier: UpstreamFault | null = null
  for (let tries = 1; ; tries++) {
    const left = until - Date.now()
    if (left <= 0) throw new UpstreamFault('timeout', `No answer within ${request.timeoutMs} ms.`)
    const attempt = await tryOnce(services, { row, login }, protocol, request, delivery, left, send)
    if ('result' in attempt) return attempt.result
    const { fault, link } = attempt
    if (request.signal?.aborted) throw new UpstreamFault('cancelled', 'The request was cancelled.')
    if (link && (isStale(fault, link) || mayHaveLostSession(fault))) {
      link.giveUp()
      if (isStale(fault, link)) protocol = link.era === 'modern' ? null : protocol
    }
    if (fault.code === 'insufficient_scope' && tries < maxTries && !delivery.mayHaveRun) {
      await stepUp(
        services,
        ownerOf(row, login),
        await targetOf(services, row.projectId, row.config),
        fault.facts.scope ?? '',
      ).catch(async (error: unknown) => {
        throw await faultOfLogin(services, login, faultOf(error))
      })
      // The connection keeps the token that it was opened with.
      if (link) services.connections.retire(link)
      continue
    }
    if (tries === maxTries || !mayRepeat(fault, link, delivery, harmless)) {
      // What may not be sent again has failed for the reason of the time before.
      const reason = isWithheld(fault) ? (earlier ?? fault) : fault
      if (!login) scheduleRefresh(services, row, reason)
      throw delivery.mayHaveRun ? reason : await faultOfLogin(services, login, reason)
    }
    earlier = fault
    if (fault.code === 'unreachable') await pause(secondTryMs)
  }
}

async function openRow(services: Services, request: UpstreamRequest): Promise<UpstreamRow> {
  const { id, projectId } = request
  const row = request.row ?? (await loadRows(services.db, [id]))[0]
  if (!row || row.projectId !== projectId)
    throw new UpstreamFault('upstream_unavailable', 'This upstream no longer exists.')
  if (request.server && placeOf(request.server) !== placeOf(row.config))
    throw new UpstreamFault(
      'upstream_unavailable',
      'This tool leads to another server than at the time of the call. The call was not sent.',
    )
  if (row.closedForMs <= 0) return row
  const seconds = Math.ceil(row.closedForMs / 1000)
  throw new UpstreamFault(
    'upstream_unavailable',
    `The server failed ${row.failures} times in a row; the next attempt is in ${seconds} s.`,
    { retryAfterMs: Math.ceil(row.closedForMs) },
  )
}

function placeOf({ url, headers }: Pick<UpstreamConfig, 'url' | 'headers'>): string {
  return hashJson({ url, headers })
}

/** `link` is null when no shared connection could be opened. */
async function tryOnce<Result>(
  services: Services,
  { row, login }: { row: UpstreamRow; login: PersonLogin | null },
  protocol: NegotiatedProtocol | null,
  request: UpstreamRequest,
  delivery: Delivery<Result>,
  timeoutMs: number,
  send: Send<Result>,
): Promise<{ result: Result } | { fault: UpstreamFault; link: Link | null }> {
  const startedAt = Date.now()
  const left = () => Math.max(1, timeoutMs - (Date.now() - startedAt))
  let link: Link | null = null
  let done = () => {}
  try {
    const lease = await within(borrowLink(services, row, protocol, login), left(), request.signal ?? null)
    link = lease.resource
    done = lease.release
    const own = await ownLink(services, ownerOf(row, login), link, request, left())
    if (own) done = () => (lease.release(), void own.close())
    const over = own ?? link
    const result = await trackDelivery(
      request.signal ?? null,
      (signal) => send(over, { timeoutMs: left(), signal, row }),
      delivery,
    )
    return { result }
  } catch (error) {
    // It says nothing about the server.
    if (isStorageError(error) && !delivery.mayHaveRun) throw error
    return { fault: cleanFault(faultOf(error), link), link }
  } finally {
    if (delivery.late) delivery.late.then(done, done)
    else done()
  }
}

/** Removes secrets from text that the upstream sent outside MCP messages, such as the body of an HTTP error. */
function cleanFault(fault: UpstreamFault, link: Link | null): UpstreamFault {
  if (!link) return fault
  const { message, facts } = link.hidden.clean({ message: fault.message, facts: fault.facts })
  return message === fault.message ? fault : new UpstreamFault(fault.code, message, facts, fault.cause)
}

/**
 * Opens a connection for this request alone. On the shared connection, a server request (legacy sessions) or a log line
 * (both eras) cannot be matched to the call that caused it.
 */
async function ownLink(
  services: Services,
  owner: TokenOwner,
  shared: Link,
  { relay, signal }: UpstreamRequest,
  timeoutMs: number,
): Promise<Link | null> {
  const asks = relay?.ask !== undefined && shared.era === 'legacy'
  const logs =
    relay?.notify !== undefined && Boolean(relay.logLevel) && 'logging' in shared.facts.capabilities
  if (!relay || (!asks && !logs)) return null
  const target = await targetOf(services, owner.projectId, owner.config)
  const { elicitation, sampling, roots } = relay.clientCapabilities as Record<string, Json | undefined>
  const capabilities = asks ? ({ elicitation, sampling, roots } as ClientCapabilities) : {}
  const link = await openLink(services, target, {
    protocol: shared.protocol,
    auth: authFor(services, owner, target),
    capabilities: readJson(writeJson(capabilities)) as ClientCapabilities,
    timeoutMs,
    ...(signal ? { signal } : {}),
  })
  await prepareRelay(link, relay)
  return link
}

function isWithheld({ cause }: UpstreamFault): boolean {
  return cause instanceof EgressError && cause.code === 'WITHHELD'
}

/** True when the transport proves that the upstream did not act on the request, or when a repeat does no harm. */
function mayRepeat(fault: UpstreamFault, link: Link | null, delivery: Delivery, harmless: boolean): boolean {
  if (fault.code === 'connection_lost') return harmless || !delivery.mayHaveRun
  if (delivery.mayHaveRun || (isOwnError(fault) && !harmless)) return false
  return fault.code === 'unreachable' || (link !== null && isStale(fault, link))
}

/**
 * Schedules a refresh now, so that the upstream's status shows the failure at once and not minutes later. Calls that fail in
 * the time after that schedule none: each would begin the refresh anew.
 */
function scheduleRefresh(services: Services, { id, status }: UpstreamRow, fault: UpstreamFault): void {
  if (!mayHaveLostSession(fault) || status !== 'CONNECTED') return
  const work = async () => {
    await wakeUpstreams(services, sql`id = ${id} and status = 'CONNECTED'`)
    await pause(betweenFailuresMs, undefined, { ref: false })
  }
  services.connections
    .share(`failed ${id}`, work)
    .catch((error: unknown) =>
      services.log.warn({ err: error, id }, 'could not schedule the refresh of an upstream'),
    )
}

/** Others may wait for the same connection: a caller that times out leaves it to them. */
async function within<Thing extends { release(): void }>(
  borrowing: Promise<Thing>,
  timeoutMs: number,
  signal: AbortSignal | null,
): Promise<Thing> {
  let end = () => {}
  const gaveUp = new Promise<never>((_resolve, reject) => {
    const timer = setTimeout(
      () => reject(new UpstreamFault('timeout', 'The server did not answer in time.')),
      timeoutMs,
    )
    const forget = onAbort(signal, () => reject(new UpstreamFault('cancelled', 'The request was cancelled.')))
    end = () => {
      clearTimeout(timer)
      forget()
    }
  })
  let given = false
  try {
    const thing = await Promise.race([borrowing, gaveUp])
    given = true
    return thing
  } finally {
    end()
    gaveUp.catch(() => {})
    if (!given) borrowing.then((thing) => thing.release()).catch(() => {})
  }
}
