/** Events of Slack integrations. */
import { kindsOf, projectOnly } from './define.ts'

type SlackFacts = { integrationId: string }

export interface SlackEvents {
  SLACK_SET: SlackFacts
  SLACK_DELETED: SlackFacts
  /** `reason`: a request disabled it, Slack refused its token, or the channel, or retention removed events before it. */
  SLACK_DISABLED: SlackFacts & { reason: 'BY_REQUEST' | 'TOKEN_REVOKED' | 'REFUSED' | 'BEHIND' }
}

const kind = kindsOf<SlackEvents>()

export const slackSet = kind('SLACK_SET', projectOnly)
export const slackDeleted = kind('SLACK_DELETED', projectOnly)
export const slackDisabled = kind('SLACK_DISABLED', projectOnly)
