/** The operations on Slack integrations: set, delete and read one, and link its users. */
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { AppError, invalidAt, notFound } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { asText, type JsonObject } from '../../../core/json.ts'
import { optional } from '../../../core/shapes.ts'
import { shortText } from '../../../core/text.ts'
import { atomically, query, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { slackIntegrations, slackMessages, slackUsers } from '../../../store/db/tables/verdicts.ts'
import {
  assertMay,
  denialError,
  inProject,
  operation,
  projectOf,
  recordChange,
  type Ctx,
  deletion,
} from '../../access/index.ts'
import {
  appendProjectEvents,
  placeInFeed,
  slackDeleted,
  slackDisabled,
  slackSet,
  type ProjectEvent,
} from '../../events/index.ts'
import { wakes } from '../place.ts'
import { callSlack } from './api.ts'
import {
  integrationOf,
  rowOf,
  sealPart,
  openPart,
  type IntegrationRow,
  SlackIntegration,
} from './integration.ts'

const setSlack = z
  .object({
    ...inProject,
    botToken: z
      .string()
      .regex(/^xoxb-[\w-]{8,300}$/, 'must be a bot token, which begins with xoxb-')
      .describe('The bot token of the Slack app, with the scope chat:write. Required for a new integration.')
      .nullish(),
    signingSecret: z
      .string()
      .regex(/^[0-9a-zA-Z]{16,128}$/, 'must be the signing secret of the app')
      .describe('The signing secret of the Slack app. Required for a new integration.')
      .nullish(),
    channel: z
      .string()
      .regex(/^[CGD][A-Z0-9]{2,30}$/, 'must be the id of a channel, such as C0123456789')
      .describe(
        'The id of the channel, of which the app is a member, such as C0123456789. Required for a new integration.',
      )
      .nullish(),
    showArguments: optional(
      z.boolean().describe('Whether messages include arguments, writeOnly values masked.'),
      'unchanged, at first false',
    ),
    enabled: optional(
      z.boolean().describe('Whether questions are posted.'),
      'unchanged; a new token or channel enables what Slack has disabled',
    ),
  })
  .describe('The settings of a Slack integration.')

type SlackSettings = z.output<typeof setSlack>

const resourceOf = (projectId: string) => `slack/${projectId}`

/** The Slack integration of a project; null when it has none. Action `slack:Get`. */
export async function getSlackIntegration(
  ctx: Ctx,
  input: { projectId?: string | null | undefined },
): Promise<SlackIntegration | null> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'slack:Get', projectId, resourceOf(projectId))
  const row = await rowOf(ctx.db, projectId)
  return row ? integrationOf(row) : null
}

/** A new token is tried first: INVALID when Slack refuses it, UPSTREAM when Slack does not answer. Idempotent. */
export const setSlackIntegration = operation({
  name: 'setSlackIntegration',
  does:
    'Sets the Slack integration of a project; fields that are left out stay, and a new bot token is tried with Slack ' +
    "first. Only an operator's API key may set botToken and signingSecret, with which a program can vote for every " +
    'linked user.',
  permission: ['slack:Set', 'events:Subscribe'],
  input: setSlack,
  payload: z
    .object({ integration: SlackIntegration.describe('The Slack integration after the mutation.') })
    .describe('The Slack integration after the mutation.'),
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, given) {
    const projectId = await projectOf(ctx, given.projectId)
    await assertMay(ctx, 'slack:Set', projectId, resourceOf(projectId))
    // Whoever knows the secrets can sign the presses of every linked user.
    if ((given.botToken || given.signingSecret) && !ctx.principal.installation)
      throw await denialError(
        ctx,
        { action: 'slack:Set', projectId, resource: resourceOf(projectId) },
        "Only an operator's key may set botToken and signingSecret.",
      )
    // Whoever may set it could read every question in a channel of their own.
    await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`)
    const known = await rowOf(ctx.db, projectId)
    if (!known)
      for (const name of ['botToken', 'signingSecret', 'channel'] as const)
        if (!given[name]) throw invalidAt(['input', name], 'is required for a new integration')
    const team = given.botToken ? await teamOf(ctx, given.botToken) : null
    const place = await placeInFeed(ctx, projectId, null)
    const set = await atomically(ctx.db, async (tx) => {
      await query(tx, sql`select 1 from projects where id = ${projectId} for update`)
      const before = await rowOf(tx, projectId)
      // Deleted or created since it was read: what is missing would be a mixture of two.
      if ((before?.id ?? null) !== (known?.id ?? null)) throw changed(before?.id ?? known!.id)
      const id = before?.id ?? newId('slackIntegration')
      const values = valuesOf(ctx, id, given, team, before)
      const [row] = before
        ? await tx.update(slackIntegrations).set(values).where(eq(slackIntegrations.id, id)).returning()
        : await tx
            .insert(slackIntegrations)
            .values({
              ...(values as unknown as typeof slackIntegrations.$inferInsert),
              epoch: 0,
              id,
              projectId,
              at: place.at,
              mark: place.event,
              createdBy: ctx.principal.id,
            })
            .returning()
      const off = given.enabled === false && before?.status !== 'DISABLED'
      const event = off
        ? slackDisabled({ integrationId: id, reason: 'BY_REQUEST' })
        : slackSet({ integrationId: id })
      await recordSlackChange(tx, ctx, projectId, 'slack:Set', [event], {
        channel: row!.channel,
        secrets: namesOf(given),
      })
      return row!
    })
    wake(ctx, projectId)
    return { integration: integrationOf(set) }
  },
})

/** The secrets that were set, by name, for the audit. */
function namesOf({ botToken, signingSecret }: SlackSettings): string[] {
  return [...(botToken ? ['botToken'] : []), ...(signingSecret ? ['signingSecret'] : [])]
}

function valuesOf(
  { masterKey }: Ctx,
  id: string,
  given: SlackSettings,
  team: { teamId: string; teamName: string } | null,
  before: IntegrationRow | undefined,
) {
  const { botToken, signingSecret, channel, showArguments } = given
  const repairs = Boolean(botToken || channel) && before?.disabledReason !== 'BY_REQUEST'
  const on = given.enabled ?? (repairs || before?.status !== 'DISABLED')
  const state = on
    ? { status: 'IDLE', disabledReason: null, disabledAt: null, fault: null, failures: 0, wakeAt: sql`now()` }
    : before?.status === 'DISABLED'
      ? {}
      : { status: 'DISABLED', disabledReason: 'BY_REQUEST', disabledAt: sql`now()`, wakeAt: null }
  return {
    ...team,
    ...(botToken ? { botToken: sealPart(masterKey, id, 'token', botToken) } : {}),
    ...(signingSecret ? { signingSecret: sealPart(masterKey, id, 'signing', signingSecret) } : {}),
    ...(channel ? { channel } : {}),
    ...(typeof showArguments === 'boolean' ? { showArguments } : {}),
    ...(botToken || signingSecret || channel ? { verifiedAt: null } : {}),
    ...state,
    epoch: sql`${slackIntegrations.epoch} + 1`,
    updatedAt: sql`now()`,
  }
}

async function teamOf(ctx: Ctx, token: string): Promise<{ teamId: string; teamName: string }> {
  const answer = await callSlack(ctx, token, 'auth.test', {})
  if (answer.ok)
    return {
      teamId: shortText(asText(answer.body['team_id'] ?? ''), 100),
      teamName: shortText(asText(answer.body['team'] ?? ''), 200),
    }
  if (answer.kind === 'later')
    throw new AppError('UPSTREAM', `Slack did not answer (${answer.error}). Try again.`)
  throw invalidAt(['input', 'botToken'], `was refused by Slack (${answer.error})`)
}

function changed(id: string): AppError {
  return new AppError('CONFLICT', 'The integration was changed meanwhile. Read it again.', {
    conflictingId: id,
  })
}

export const deleteSlackIntegration = operation({
  name: 'deleteSlackIntegration',
  does:
    'Deletes the Slack integration of a project with the links of its users; its messages stay, and their buttons ' +
    'decide nothing.',
  permission: 'slack:Delete',
  input: z.object(inProject).describe('The project whose Slack integration is deleted.'),
  payload: deletion,
  refuses: ['NOT_FOUND'],
  async run(ctx, input) {
    const projectId = await projectOf(ctx, input.projectId)
    await assertMay(ctx, 'slack:Delete', projectId, resourceOf(projectId))
    return atomically(ctx.db, async (tx) => {
      const [row] = await tx
        .delete(slackIntegrations)
        .where(eq(slackIntegrations.projectId, projectId))
        .returning()
      if (!row) throw notFound('Slack integration of the project', projectId)
      await tx.delete(slackUsers).where(eq(slackUsers.projectId, projectId))
      await tx.delete(slackMessages).where(eq(slackMessages.integrationId, row.id))
      await recordSlackChange(
        tx,
        ctx,
        projectId,
        'slack:Delete',
        [slackDeleted({ integrationId: row.id })],
        {},
      )
      return { deletedId: row.id, deleted: true }
    }).finally(() => wake(ctx, projectId))
  },
})

/** Writes the events and the audit entry of a change. */
export async function recordSlackChange(
  tx: Database,
  ctx: Ctx,
  projectId: string,
  action: 'slack:Set' | 'slack:Delete' | 'slack:LinkUser',
  events: readonly ProjectEvent[],
  details: JsonObject,
): Promise<void> {
  await recordChange(tx, ctx, { projectId, action, resource: resourceOf(projectId), details })
  await appendProjectEvents(tx, projectId, events)
}

export const wake = wakes('slack_integrations')

/** Encrypts tokens and signing secrets with another master key, in the caller's transaction. Returns the number of rows. */
export async function resealSlack(tx: Database, from: Buffer, to: Buffer): Promise<number> {
  const rows = await tx.select().from(slackIntegrations).for('update')
  for (const { id, botToken, signingSecret } of rows)
    await tx
      .update(slackIntegrations)
      .set({
        botToken: sealPart(to, id, 'token', openPart(from, id, 'token', botToken)),
        signingSecret: sealPart(to, id, 'signing', openPart(from, id, 'signing', signingSecret)),
      })
      .where(eq(slackIntegrations.id, id))
  return rows.length
}
