/** The form of the Slack integration as a draft, and what of it is sent. Pure. */
import { changedNames } from '../../../parts/rebase.ts'
import { t } from '../../../texts/texts.tsx'

export interface SlackDraft {
  channel: string
  showArguments: boolean
}

/** What can be written and never be read. Empty: as it was. */
export interface SlackSecrets {
  botToken: string
  signingSecret: string
}

export const noSecrets: SlackSecrets = { botToken: '', signingSecret: '' }
export const emptySlackDraft: SlackDraft = { channel: '', showArguments: false }

export const slackNames: Record<keyof SlackDraft, string> = {
  channel: t('Channel'),
  showArguments: t('With the arguments of calls'),
}

export const draftOfSlack = ({ channel, showArguments }: SlackDraft): SlackDraft => ({
  channel,
  showArguments,
})

const secretsIn = ({ botToken, signingSecret }: SlackSecrets) => ({
  ...(botToken.trim() ? { botToken: botToken.trim() } : {}),
  ...(signingSecret.trim() ? { signingSecret: signingSecret.trim() } : {}),
})

/** Everything, for a new integration. */
export const newSlackInput = (draft: SlackDraft, secrets: SlackSecrets) => ({
  ...secretsIn(secrets),
  channel: draft.channel.trim(),
  showArguments: draft.showArguments,
})

/** What was changed, so that what somebody else changed meanwhile stays as it is. */
export function slackChanges(began: SlackDraft, draft: SlackDraft, secrets: SlackSecrets) {
  const changed = new Set(changedNames(began, draft))
  return {
    ...secretsIn(secrets),
    ...(changed.has('channel') ? { channel: draft.channel.trim() } : {}),
    ...(changed.has('showArguments') ? { showArguments: draft.showArguments } : {}),
  }
}
