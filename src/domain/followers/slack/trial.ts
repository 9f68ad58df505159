/** A test of an integration: the token, a message in the channel, and the press of its button, which comes back signed. */
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { notFound } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { atomically } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { slackIntegrations } from '../../../store/db/tables/verdicts.ts'
import {
  assertMay,
  inProject,
  operation,
  projectOf,
  publishNews,
  recordChange,
  type Services,
} from '../../access/index.ts'
import { appendProjectEvents, slackSet } from '../../events/index.ts'
import { callSlack } from './api.ts'
import { testAction, testMessage } from './blocks.ts'
import { openPart, rowOf, type IntegrationRow } from './integration.ts'

/** The message is not sent with a token that is refused. The press of its button proves signing secret and Request URL. */
export const testSlackIntegration = operation({
  name: 'testSlackIntegration',
  does:
    'Tries the bot token and posts a message with a button in the channel; its press sets verifiedAt, with the event ' +
    'SLACK_SET. Works for a disabled integration too.',
  permission: 'slack:Set',
  input: z.object(inProject).describe('The project whose Slack integration is tried.'),
  payload: z
    .object({
      tokenFault: z
        .string()
        .nullable()
        .describe('The error of Slack about the bot token; null when it is valid.'),
      channelFault: z
        .string()
        .nullable()
        .describe('The error of Slack about the message; null when it was posted, and for an invalid token.'),
    })
    .describe('The answers of Slack to a test.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, input) {
    const projectId = await projectOf(ctx, input.projectId)
    const resource = `slack/${projectId}`
    await assertMay(ctx, 'slack:Set', projectId, resource)
    const row = await rowOf(ctx.db, projectId)
    if (!row) throw notFound('Slack integration of the project', projectId)
    await recordChange(ctx.db, ctx, { projectId, action: 'slack:Set', resource, details: { test: true } })
    const token = openPart(ctx.masterKey, row.id, 'token', row.botToken)
    const known = await callSlack(ctx, token, 'auth.test', {})
    if (!known.ok) return { tokenFault: known.error, channelFault: null }
    const message = { channel: row.channel, ...testMessage(row.id) }
    const posted = await callSlack(ctx, token, 'chat.postMessage', message)
    return { tokenFault: null, channelFault: posted.ok ? null : posted.error }
  },
})

/** The id of the integration whose test message was pressed; null for anything else. */
export function testIntegrationOf(payload: JsonObject): string | null {
  const { type, actions } = payload
  const action = type === 'block_actions' && Array.isArray(actions) ? actions[0] : null
  if (!isJsonObject(action) || action['action_id'] !== testAction) return null
  return typeof action['value'] === 'string' ? action['value'] : null
}

/** Notes that a press came back, and shows it in the message. The signature of the payload was verified with `row`. */
export async function noteTestPress(
  services: Services,
  row: IntegrationRow,
  payload: JsonObject,
): Promise<void> {
  const { id, projectId, signingSecret, channel } = row
  await atomically(services.db, async (tx) => {
    const written = await tx
      .update(slackIntegrations)
      .set({ verifiedAt: sql`now()` })
      // With a secret that was set meanwhile the press proves nothing.
      .where(and(eq(slackIntegrations.id, id), eq(slackIntegrations.signingSecret, signingSecret)))
      .returning({ id: slackIntegrations.id })
    if (written.length > 0) await appendProjectEvents(tx, projectId, [slackSet({ integrationId: id })])
  })
  publishNews(services, projectId)
  const { container } = payload
  const ts = isJsonObject(container) ? container['message_ts'] : null
  if (typeof ts !== 'string') return
  const token = openPart(services.masterKey, id, 'token', row.botToken)
  await callSlack(services, token, 'chat.update', { channel, ts, ...testMessage(id, true) })
}
