/** A message to the URL of a hook: known by its signature, and the start of one run for each id. */
import { AppError } from '../../core/errors.ts'
import { tryParseJson } from '../../core/json.ts'
import { query } from '../../store/db/database.ts'
import { selectRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { triggers } from '../../store/db/tables/triggers.ts'
import { actingPrincipal, asAppError, type Services } from '../access/index.ts'
import { isSignedBy, newSecret, openSecret, type SignedMessage } from '../followers/index.ts'
import { findStart, startRun } from './start.ts'
import { fillTemplate, type TriggerRow } from './trigger.ts'
import { requesterGone } from './worker.ts'

/** The path of the URL, before the id of the trigger. */
export const hookPath = '/hooks/'

/** How far the time stamp of a message may be from the clock of this server, in seconds. */
const toleranceSeconds = 300

export interface HookMessage extends SignedMessage {
  triggerId: string
  remoteAddress: string | null
  requestId: string
}

/**
 * Starts a run with the prompt that the template makes of a message; returns its id. A message whose id has started one
 * returns that run. NOT_FOUND, with one message, for a hook that does not exist and for a signature that does not fit.
 */
export async function receiveMessage(services: Services, message: HookMessage): Promise<string> {
  assertForm(message, services.clock.now())
  const row = await signedFor(services, message)
  const key = `message/${message.id}`
  const earlier = await findStart(services.db, row, key)
  if (earlier) return earlier
  if (row.status !== 'ENABLED') throw new AppError('CONFLICT', 'This trigger is disabled.')
  try {
    return await startFor(services, row, message, key)
  } catch (error) {
    const known = asAppError(error)
    if (known && known.code !== 'UNAVAILABLE')
      await query(
        services.db,
        sql`update triggers set last_error = ${known.message}, last_at = now() where id = ${row.id}`,
      )
    throw error
  }
}

async function startFor(
  services: Services,
  row: TriggerRow,
  { body, remoteAddress, requestId }: HookMessage,
  key: string,
): Promise<string> {
  const principal = await actingPrincipal(services.db, row.projectId, row.requestedBy, services.clock.now())
  if (!principal) throw new AppError('FORBIDDEN', requesterGone)
  await services.rates.takeRequests(principal, 1)
  const json = tryParseJson(body.toString('utf8'))
  if (json === undefined) throw new AppError('INVALID', 'The body is not JSON, or is nested too deep.')
  const filled = fillTemplate(row.prompt, json)
  if ('missing' in filled)
    throw new AppError('INVALID', `The body has nothing at ${filled.missing}, which the template names.`)
  const run = await startRun({ ...services, principal, requestId, remoteAddress }, row, {
    key,
    prompt: filled.text,
    still: sql`status = 'ENABLED'`,
    lost: () => new AppError('CONFLICT', 'This trigger was disabled or deleted meanwhile.'),
  })
  return run.id
}

function assertForm({ id, timestamp, signature }: HookMessage, nowMs: number): void {
  const isWhole = /^[\x21-\x7e]{1,200}$/.test(id) && /^\d{1,12}$/.test(timestamp) && signature !== ''
  if (!isWhole)
    throw new AppError(
      'INVALID',
      'The headers webhook-id, webhook-timestamp and webhook-signature are required.',
    )
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new AppError('INVALID', `The webhook-timestamp is more than ${toleranceSeconds} seconds off.`)
}

/** What a message is compared with where there is no hook, so that both take the same time. */
const otherSecret = newSecret()

async function signedFor({ db, masterKey, clock }: Services, message: HookMessage): Promise<TriggerRow> {
  const [row] = await selectRows(db, triggers, sql`where id = ${message.triggerId} and kind = 'HOOK'`)
  const isTurning = (row?.previousUntil?.getTime() ?? 0) > clock.now()
  const sealed = row ? [row.secret!, ...(isTurning ? [row.previousSecret!] : [])] : []
  const secrets = row ? sealed.map((one) => openSecret(masterKey, row.id, one)) : [otherSecret]
  if (!isSignedBy(secrets, message) || !row)
    throw new AppError('NOT_FOUND', 'Nothing is at this URL, or the signature is not of its secret.')
  return row
}
