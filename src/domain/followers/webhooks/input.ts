/** The inputs of webhooks, checked. */
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { idOf, optional, scalar, part } from '../../../core/shapes.ts'
import { assertMay, assertSpeaksFor, type Ctx } from '../../access/index.ts'
import { eventKinds, isSent, type EventType, placeInFeed } from '../../events/index.ts'
import { isMailAddress } from '../../egress/index.ts'
import { faultOfMail, isMail } from './mail.ts'
import { Webhook, type Recipient } from './webhook.ts'

/** A type of events that webhooks are sent. */
export const sentType = scalar('EventType', z.string())
  .refine((type) => Object.hasOwn(eventKinds, type), 'is not a type of event')
  .refine(isSent, 'is not sent to webhooks')
  .transform((type) => type as EventType)

/** A list of such types, each once. */
export const sentTypes = z
  .array(sentType)
  .min(1, 'must name a type; leave it out for all types')
  .max(100)
  .transform((names) => [...new Set(names)])
  .describe('The types of the events to send, at most 100.')

/** The URL of an endpoint. */
export const urlShape = text(2000, 1)

/** The webhook that is meant. */
export const ofWebhook = { webhookId: idOf('webhook') }

/** What a mutation of a webhook returns. */
export const webhookPayload = part('WebhookPayload', 'The webhook, and its signing secret if that is new.', {
  webhook: Webhook.describe('The webhook after the mutation.'),
  secret: z
    .string()
    .nullable()
    .describe(
      'The signing secret, which is shown only now; it begins with whsec_. Null unless the mutation made one.',
    ),
})

/** What people say about an endpoint. */
export const description = text(500).describe('What the endpoint is for, at most 500 characters.')

/** Settings that have a value when none is given. */
export const settings = {
  full: optional(
    z.boolean().describe('Whether payloads include the arguments of calls, writeOnly values masked.'),
    'false',
  ),
  ordered: optional(
    z
      .boolean()
      .describe(
        'Whether one event is sent at a time, in the order of the feed; an event that fails holds up those after it.',
      ),
    'false',
  ),
}

/** Throws INVALID for a URL to which nothing may be sent. A name is checked again whenever it is resolved. */
export function assertUrl({ egress }: Pick<Ctx, 'egress'>, url: string, path: string[]): void {
  const fault = egress.checkUrl(url)
  if (fault) throw invalidAt(path, `cannot be used: ${fault}`)
}

/** What is sent to an endpoint that names no types. */
export const typesDefault =
  'all types; for an e-mail address requests of approvals, and their expiry and escalation'

/** Throws INVALID for an endpoint, a URL or `mailto:` and an address, to which nothing may be sent. */
export function assertEndpoint(ctx: Pick<Ctx, 'egress' | 'mailer'>, url: string, path: string[]): void {
  if (!isMail(url)) return assertUrl(ctx, url, path)
  const fault = faultOfMail(ctx, url)
  if (fault) throw invalidAt(path, fault)
}

/** Throws INVALID when an endpoint is an address and one of the recipients has none. Call it with the row locked. */
export function assertAddresses(url: string, recipients: readonly Recipient[]): void {
  const at = isMail(url) ? recipients.findIndex(({ address }) => !isMailAddress(address)) : -1
  if (at >= 0)
    throw invalidAt(
      ['input', 'recipients', String(at), 'address'],
      'must be one e-mail address, because the webhook sends mails',
    )
}

/** Throws CONFLICT when the webhook has another version than the caller expects. Call it with the row locked. */
export function assertVersion(
  { id, version }: Pick<Webhook, 'id' | 'version'>,
  expected: number | null | undefined,
): void {
  if (typeof expected !== 'number' || expected === version) return
  throw new AppError(
    'CONFLICT',
    'The webhook was changed by another request. Read it again and repeat the change.',
    { conflictingId: id },
  )
}

/** Throws unless the caller may let these people's links go to the endpoint. Call it when list or URL change. */
export async function assertRecipients(
  ctx: Ctx,
  { id, projectId }: Pick<Webhook, 'id' | 'projectId'>,
  recipients: readonly Recipient[],
): Promise<void> {
  const what = { action: 'webhooks:SetRecipients', projectId, resource: `webhook/${id}` } as const
  await assertMay(ctx, what.action, projectId, what.resource)
  await assertSpeaksFor(
    ctx,
    what,
    recipients.map(({ principalId }, i) => ({
      id: principalId,
      path: ['input', 'recipients', String(i), 'principalId'],
    })),
  )
}

/**
 * The place of the cursor; without one, the newest. INVALID at `path` for what is no cursor of this server,
 * CURSOR_EXPIRED for one whose event is gone.
 */
export async function givenPlace(
  ctx: Ctx,
  projectId: string,
  cursor: string | null | undefined,
  path: string[],
): ReturnType<typeof placeInFeed> {
  try {
    return await placeInFeed(ctx, projectId, cursor)
  } catch (error) {
    if (error instanceof AppError && error.code === 'BAD_CURSOR')
      throw invalidAt(path, 'is not a cursor of an event')
    throw error
  }
}
