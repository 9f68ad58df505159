/** What must be true before a press in Slack counts, each with what is known of it. Pure. */
import type { Integration, SlackTrial } from './documents.ts'
import { t } from '../../../texts/texts.tsx'

export interface SlackStep {
  name: string
  /** `open`: nobody knows yet. */
  state: 'done' | 'failed' | 'open'
  /** What is known, or what to do. */
  about: string
}

type Known = Pick<Integration, 'disabledReason' | 'fault' | 'verifiedAt' | 'users' | 'interactionsUrl'>

/** The steps in their order. A test says more than what was known before. */
export function stepsOf(known: Known, trial: SlackTrial): SlackStep[] {
  return [tokenStep(known, trial), channelStep(known, trial), pressStep(known, trial), userStep(known)]
}

function tokenStep({ disabledReason, fault }: Known, trial: SlackTrial): SlackStep {
  const name = t('Slack accepts the bot token')
  const refused = trial ? trial.tokenFault : disabledReason === 'TOKEN_REVOKED' ? fault : null
  if (refused !== null) return { name, state: 'failed', about: wordsOf(refused) }
  return { name, state: 'done', about: t('It was tried with Slack.') }
}

function channelStep({ disabledReason, fault, verifiedAt }: Known, trial: SlackTrial): SlackStep {
  const name = t('The app posts in the channel')
  const refused = trial ? trial.channelFault : disabledReason === 'REFUSED' ? fault : null
  if (refused !== null) return { name, state: 'failed', about: wordsOf(refused) }
  const isPosted = trial !== null && trial.tokenFault === null
  return isPosted || verifiedAt !== null
    ? { name, state: 'done', about: t('The test message is there.') }
    : { name, state: 'open', about: t('Send a test message.') }
}

function pressStep({ verifiedAt, interactionsUrl }: Known, trial: SlackTrial): SlackStep {
  const name = t('Presses come back, signed with the signing secret')
  if (verifiedAt !== null)
    return { name, state: 'done', about: t('The button of a test message was pressed.') }
  const isPosted = trial !== null && trial.tokenFault === null && trial.channelFault === null
  const about = isPosted
    ? t(
        'Press the button of the test message in Slack. If nothing changes here, Slack does not reach the Request URL {url}, or the signing secret is another one.',
        { url: interactionsUrl },
      )
    : t('Send a test message, and press its button in Slack.')
  return { name, state: 'open', about }
}

function userStep({ users }: Known): SlackStep {
  const name = t('Someone’s presses count')
  return users.length === 0
    ? { name, state: 'open', about: t('Link a Slack user to a person or key, below.') }
    : { name, state: 'done', about: t('Linked Slack users: {count}.', { count: users.length }) }
}

const install = t('Install the app in the workspace again, and set its bot token below.')
const mends: Record<string, string> = {
  not_in_channel: t('Invite the app to the channel.'),
  channel_not_found: t('The channel does not exist, or it is private and the app is no member of it.'),
  is_archived: t('The channel is archived: set another one below.'),
  missing_scope: t('Give the app the bot scope chat:write, and install it again.'),
  invalid_auth: install,
  account_inactive: install,
  token_revoked: install,
  ratelimited: t('Slack is busy: try again in a minute.'),
}

/** An error of Slack, with what helps. */
const wordsOf = (fault: string): string =>
  [t('Slack returned {fault}.', { fault }), ...(Object.hasOwn(mends, fault) ? [mends[fault]] : [])].join(' ')
