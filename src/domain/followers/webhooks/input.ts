/** The inputs of webhooks, checked. */
import { z } from 'zod'
import { text } from '../../../core/check.ts'
import { AppError, invalidAt } from '../../../core/errors.ts'
import { assertMay, assertSpeaksFor, type Ctx } from '../../access/index.ts'
import { eventKinds, isSent, type EventType } from '../../events/index.ts'
import type { Recipient, Webhook } from './webhook.ts'

const longestUrl = 2000

/** A type of events that webhooks are sent. */
export const sentType = z
  .string()
  .refine((type) => Object.hasOwn(eventKinds, type), 'is not a type of event')
  .refine(isSent, 'is not sent to webhooks')
  .transform((type) => type as EventType)

const types = z
  .array(sentType)
  .min(1, 'must name a type; leave it out for all types')
  .max(100)
  .transform((names) => [...new Set(names)])

/** The settings of a webhook that are set when it is created, and may be changed. */
export const settings = {
  description: text(500).nullish(),
  types: types.nullish(),
  full: z.boolean().nullish(),
  ordered: z.boolean().nullish(),
}

export const urlShape = text(longestUrl, 1)

/** Throws INVALID for a URL to which nothing may be sent. A name is checked again whenever it is resolved. */
export function assertUrl({ egress }: Pick<Ctx, 'egress'>, url: string, path: string[]): void {
  const fault = egress.checkUrl(url)
  if (fault) throw invalidAt(path, `cannot be used: ${fault}`)
}

/** The version of which a change is made; left out: of any. */
export const expectedVersion = z.number().int().nullish()

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
