/** The fields of the Slack integration. Token and signing secret are for operators, who alone may set them. */
import type { Issue } from '../../../api/outcome.ts'
import { Check, Field } from '../../../parts/fields.tsx'
import type { SlackDraft, SlackSecrets } from './draft.ts'
import { t } from '../../../texts/texts.tsx'

interface Props {
  draft: SlackDraft
  secrets: SlackSecrets
  isNew: boolean
  isOperator: boolean
  issues: readonly Issue[]
  onDraft(draft: SlackDraft): void
  onSecrets(secrets: SlackSecrets): void
}

export function SlackFields({ draft, secrets, isNew, isOperator, issues, onDraft, onSecrets }: Props) {
  const kept = isNew ? '' : ` ${t('Leave empty to keep it.')}`
  return (
    <>
      <Field
        label={t('Channel')}
        at="channel"
        value={draft.channel}
        onChange={(channel) => onDraft({ ...draft, channel })}
        isRequired
        issues={issues}
        placeholder="C0123456789"
        hint={t(
          'The id of a channel of which the app is a member: in Slack at the end of the channel’s details.',
        )}
      />
      <Check
        label={t('With the arguments of calls')}
        value={draft.showArguments}
        onChange={(showArguments) => onDraft({ ...draft, showArguments })}
        hint={t('Everyone in the channel can read them. Values that are writeOnly stay masked.')}
      />
      {isOperator ? (
        <>
          <Field
            label={t('Bot token')}
            at="botToken"
            type="password"
            value={secrets.botToken}
            onChange={(botToken) => onSecrets({ ...secrets, botToken })}
            isRequired={isNew}
            issues={issues}
            placeholder="xoxb-…"
            hint={t('It is tried with Slack, stored encrypted and never shown.{kept}', { kept })}
          />
          <Field
            label={t('Signing secret')}
            at="signingSecret"
            type="password"
            value={secrets.signingSecret}
            onChange={(signingSecret) => onSecrets({ ...secrets, signingSecret })}
            isRequired={isNew}
            issues={issues}
            hint={t('In Slack under Basic Information of the app.{kept}', { kept })}
          />
        </>
      ) : (
        <p className="small mute">
          {t(
            'Only an operator’s key may set the bot token and the signing secret: whoever knows them can vote for every linked user.',
          )}
        </p>
      )}
    </>
  )
}
