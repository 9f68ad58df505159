/** What can be done with a webhook: enable, disable, test, rotate its secret, replay, delete. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useMutation } from '../../../api/query.ts'
import type { LoggedType } from '../../../api/feed.ts'
import { ActionButton, Confirm, ConfirmAction } from '../../../parts/confirm.tsx'
import { fieldsOf, useDraft } from '../../../parts/draft-fields.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { AnswerLine, type Answer } from './answer.tsx'
import {
  deleteWebhookMutation,
  replayMutation,
  rotateMutation,
  testMutation,
  updateWebhookMutation,
  type WebhookRow,
} from './documents.ts'
import { sentTypes, typeName } from './event-types.ts'
import { SigningSecret } from './secret.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { useAction } from '../../../parts/use-action.ts'
import { t } from '../../../texts/texts.tsx'

interface Props {
  webhook: WebhookRow
  reload(): void
}

export function Ways({ webhook, reload }: Props) {
  const [isReplaying, setReplaying] = useState(false)
  const [type, setType] = useState<LoggedType | ''>('')
  const [answer, setAnswer] = useState<Answer | null>(null)
  const update = useAction(updateWebhookMutation)
  const test = useAction(testMutation)
  const input = { webhookId: webhook.id }
  const isEnabled = webhook.status === 'ENABLED'
  const isCallback = webhook.callbackOf !== null
  const turned = isEnabled
    ? t('Nothing more is sent. Its place in the log is kept.')
    : t('It goes on where it stopped.')
  const tryIt = async () => {
    setAnswer(null)
    setAnswer((await test.act({ input: { ...input, type: type || null } }))?.answer ?? null)
  }
  return (
    <section className="stack" aria-label={t('Ways')}>
      <div className="row">
        <select
          aria-label={t('Event of the test')}
          value={type}
          onChange={(event) => setType(event.target.value as LoggedType | '')}
        >
          <option value="">webhook.test</option>
          {sentTypes.map((one) => (
            <option key={one} value={one}>
              {typeName(one)}
            </option>
          ))}
        </select>
        <ActionButton needs="webhooks:Send" disabled={test.isRunning} onClick={() => void tryIt()}>
          {test.isRunning ? t('Sending …') : t('Send a test')}
        </ActionButton>
        <ActionButton
          needs="webhooks:Update"
          className={isEnabled ? undefined : 'primary'}
          disabled={update.isRunning}
          onClick={() => void update.act({ input: { ...input, enabled: !isEnabled } }, turned).then(reload)}
        >
          {isEnabled ? t('Disable') : t('Enable again')}
        </ActionButton>
        {!isCallback && (
          <ActionButton needs="webhooks:Send" disabled={!isEnabled} onClick={() => setReplaying(true)}>
            {t('Replay …')}
          </ActionButton>
        )}
        <Rotate webhook={webhook} reload={reload} />
        <span className="spread">
          <DeleteWebhook webhook={webhook} />
        </span>
      </div>
      {answer && (
        <div className="panel hook-answer" role="status" aria-label={t('Answer to the test')}>
          <AnswerLine answer={answer} />
        </div>
      )}
      {isReplaying && (
        <Replay
          webhookId={webhook.id}
          onClose={() => {
            setReplaying(false)
            reload()
          }}
        />
      )}
    </section>
  )
}

function Rotate({ webhook, reload }: Props) {
  const [secret, setSecret] = useState<string | null>(null)
  const { act, isRunning } = useAction(rotateMutation)
  const rotate = async () => setSecret((await act({ input: { webhookId: webhook.id } }))?.secret ?? null)
  return (
    <>
      <Confirm
        needs="webhooks:Update"
        word={t('Rotate the secret')}
        question={t('Create a new signing secret?')}
        isBusy={isRunning}
        onConfirm={() => void rotate()}
      >
        <p>
          {t(
            'It is shown once. For 24 hours deliveries are signed with both; a secret before the present one ends now.',
          )}
        </p>
      </Confirm>
      {secret !== null && (
        <SigningSecret
          secret={secret}
          isNew={false}
          onClose={() => {
            setSecret(null)
            reload()
          }}
        />
      )}
    </>
  )
}

function DeleteWebhook({ webhook }: { webhook: WebhookRow }) {
  const [, go] = useLocation()
  return (
    <ConfirmAction
      needs="webhooks:Delete"
      word={t('Delete')}
      question={t('Delete this webhook?')}
      mutation={deleteWebhookMutation}
      variables={{ input: { webhookId: webhook.id } }}
      done={t('The webhook is deleted.')}
      onEnd={(isDone) => isDone && go('/settings/webhooks', { replace: true })}
    >
      <p>{t('Nothing more is sent, and its deliveries are deleted. What waits to be sent is lost to it.')}</p>
    </ConfirmAction>
  )
}

const replayNames = { after: t('After the cursor'), until: t('Up to the cursor') }

function Replay({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const { draft, set } = useDraft({ after: '0', until: '' })
  const form = useMutation(replayMutation)
  const [after, until] = [draft.after.trim(), draft.until.trim()]
  const start = async () => {
    if (!(await form.send({ input: { webhookId, after, ...(until ? { until } : {}) } }))) return
    toast(t('The replay has begun.'), { tone: 'good' })
    onClose()
  }
  const { text } = fieldsOf(replayNames, { draft, set, issues: form.refused?.issues ?? [] })
  return (
    <FormDialog
      title={t('Replay a part of the log')}
      submit={t('Begin the replay')}
      isReady={after !== ''}
      form={form}
      onSubmit={start}
      onClose={onClose}
    >
      <p>{t('Events are sent again with the ids that they had. What happens meanwhile is not delayed.')}</p>
      {text('after', {
        isRequired: true,
        hint: t('0: from the beginning of the log. Each message has its cursor in its data.'),
      })}
      {text('until', { hint: t('Empty: up to now.') })}
    </FormDialog>
  )
}
