/** Verdicts from outside the page: tries of one-time codes, and Slack integrations with their users and messages. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { createdAt, jsonb, moment, projectId, updatedAt, workColumns } from './columns.ts'

/** How often codes were tried: one row for each link with which somebody tried one. The code is stored nowhere. */
export const verdictTries = pgTable(
  'verdict_tries',
  {
    approvalId: text('approval_id').notNull(),
    webhookId: text('webhook_id').notNull(),
    /** The recipient of the link. */
    principalId: text('principal_id').notNull(),
    projectId: projectId(),
    /** Tries with a wrong code. */
    wrong: integer('wrong').notNull().default(0),
    /** Of the release before; the next one drops it. */
    usedAt: moment('used_at'),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.approvalId, t.webhookId, t.principalId] }),
    index('verdict_tries_old').on(t.createdAt),
  ],
)

/** The Slack integration of a project. It is its own place in the project's feed and its own work row. */
export const slackIntegrations = pgTable(
  'slack_integrations',
  {
    id: text('id').primaryKey(),
    projectId: projectId(),
    /** The workspace, as auth.test told it. */
    teamId: text('team_id').notNull(),
    teamName: text('team_name').notNull(),
    /** Both encrypted. */
    botToken: text('bot_token').notNull(),
    signingSecret: text('signing_secret').notNull(),
    /** The id of the channel. */
    channel: text('channel').notNull(),
    /** Whether messages include arguments, masked. */
    showArguments: boolean('show_arguments').notNull().default(false),
    /** IDLE WORKING WAITING, as in webhook_cursors; DISABLED: never claimed. */
    status: text('status').notNull().default('IDLE'),
    /** BY_REQUEST TOKEN_REVOKED REFUSED BEHIND */
    disabledReason: text('disabled_reason'),
    disabledAt: moment('disabled_at'),
    /** The error that Slack returned last; null after a success. */
    fault: text('fault'),
    /** When a press of a test message last came back signed; null since a secret or the channel was set. */
    verifiedAt: moment('verified_at'),
    /** A position in the project's feed; `mark` identifies the event there. */
    at: bigint('at', { mode: 'number' }).notNull(),
    mark: jsonb('mark'),
    /** Requests in a row that have failed. */
    failures: integer('failures').notNull().default(0),
    createdBy: text('created_by').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    ...workColumns(),
  },
  (t) => [
    uniqueIndex('slack_integrations_project').on(t.projectId),
    index('slack_integrations_wake')
      .on(t.wakeAt)
      .where(sql`wake_at is not null`),
  ],
)

/** Whose vote the press of a Slack user is. */
export const slackUsers = pgTable(
  'slack_users',
  {
    projectId: projectId(),
    slackUserId: text('slack_user_id').notNull(),
    principalId: text('principal_id').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.slackUserId] })],
)

/** The message of an approval in Slack. */
export const slackMessages = pgTable(
  'slack_messages',
  {
    approvalId: text('approval_id').primaryKey(),
    projectId: projectId(),
    integrationId: text('integration_id').notNull(),
    channel: text('channel').notNull(),
    /** The time stamp by which Slack identifies the message. */
    ts: text('ts').notNull(),
    /** The state of the approval that the message shows. */
    shown: text('shown').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    index('slack_messages_integration').on(t.integrationId),
    index('slack_messages_old').on(t.createdAt),
  ],
)
