/** What can be done with a webhook: enable, disable, test, rotate its secret, replay, delete. */
import { useState, type FormEvent } from 'react'
import { useLocation } from 'wouter'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Refusal } from '../../parts/fields.tsx'
import { toast } from '../../parts/toasts.tsx'
import { AnswerLine } from './webhooks-answer.tsx'
import {
  deleteWebhookMutation,
  replayMutation,
  rotateMutation,
  testMutation,
  updateWebhookMutation,
  type Delivery,
  type WebhookRow,
} from './webhooks-documents.ts'
import { SigningSecret } from './webhooks-secret.tsx'

interface Props {
  webhook: WebhookRow
  reload(): void
}

const failed = 'The server did not answer. Look at the webhook before trying again.'

export function Ways({ webhook, reload }: Props) {
  const [isReplaying, setReplaying] = useState(false)
  const [answer, setAnswer] = useState<Delivery['answers'][number] | null>(null)
  const update = useMutation(updateWebhookMutation)
  const test = useMutation(testMutation)
  const input = { webhookId: webhook.id }
  const isEnabled = webhook.status === 'ENABLED'
  const isCallback = webhook.callbackOf !== null
  const turn = async () => {
    const result = (await update.mutate({ input: { ...input, enabled: !isEnabled } }))?.updateWebhook
    const refused = refusalOf(result)
    if (!result || refused) toast(refused?.message ?? failed, { tone: 'bad' })
    else
      toast(
        isEnabled ? 'Nothing more is sent. Its place in the log is kept.' : 'It goes on where it stopped.',
      )
    reload()
  }
  const tryIt = async () => {
    setAnswer(null)
    const result = (await test.mutate({ input }))?.testWebhook
    if (result?.__typename === 'TestWebhookPayload') setAnswer(result.answer)
    else toast(refusalOf(result)?.message ?? failed, { tone: 'bad' })
  }
  return (
    <section className="stack" aria-label="Ways">
      <div className="row">
        <button type="button" disabled={test.isRunning} onClick={() => void tryIt()}>
          {test.isRunning ? 'Sending …' : 'Send a test'}
        </button>
        <button
          type="button"
          className={isEnabled ? undefined : 'primary'}
          disabled={update.isRunning}
          onClick={() => void turn()}
        >
          {isEnabled ? 'Disable' : 'Enable again'}
        </button>
        {!isCallback && (
          <button type="button" disabled={!isEnabled} onClick={() => setReplaying(true)}>
            Replay …
          </button>
        )}
        <Rotate webhook={webhook} reload={reload} />
        <span className="spread">
          <DeleteWebhook webhook={webhook} />
        </span>
      </div>
      {answer && (
        <div className="panel hook-answer" role="status" aria-label="Answer to the test">
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
  const { mutate, isRunning } = useMutation(rotateMutation)
  const rotate = async () => {
    const result = (await mutate({ input: { webhookId: webhook.id } }))?.rotateWebhookSecret
    if (result?.__typename === 'RotateWebhookSecretPayload') setSecret(result.secret)
    else toast(refusalOf(result)?.message ?? failed, { tone: 'bad' })
  }
  return (
    <>
      <Confirm
        word="Rotate the secret"
        question="Make a new signing secret?"
        isBusy={isRunning}
        onConfirm={() => void rotate()}
      >
        <p>
          It is shown once. For 24 hours deliveries are signed with both; a secret before the present one ends
          now.
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
  const { mutate, isRunning } = useMutation(deleteWebhookMutation)
  const remove = async () => {
    const result = (await mutate({ input: { webhookId: webhook.id } }))?.deleteWebhook
    const refused = refusalOf(result)
    if (!result || refused) return toast(refused?.message ?? failed, { tone: 'bad' })
    toast('The webhook is deleted.')
    go('/operations/webhooks', { replace: true })
  }
  return (
    <Confirm word="Delete" question="Delete this webhook?" isBusy={isRunning} onConfirm={() => void remove()}>
      <p>Nothing more is sent, and its deliveries are deleted. What waits to be sent is lost to it.</p>
    </Confirm>
  )
}

function Replay({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const [after, setAfter] = useState('0')
  const [until, setUntil] = useState('')
  const [refused, setRefused] = useState<Refused | null>(null)
  const { mutate, isRunning, error } = useMutation(replayMutation)
  const start = async (event: FormEvent) => {
    event.preventDefault()
    const input = { webhookId, after: after.trim(), ...(until.trim() ? { until: until.trim() } : {}) }
    const result = (await mutate({ input }))?.replayWebhook
    const refusal = refusalOf(result)
    setRefused(refusal)
    if (!result || refusal) return
    toast('The replay has begun.', { tone: 'good' })
    onClose()
  }
  const issues = refused?.issues ?? []
  return (
    <Dialog title="Replay a part of the log" onClose={onClose}>
      <form className="stack" noValidate onSubmit={(event) => void start(event)}>
        <p>Events are sent again with the ids that they had. What happens meanwhile is not delayed.</p>
        <Field
          label="After the cursor"
          name="after"
          value={after}
          onChange={setAfter}
          isRequired
          issues={issues}
          hint="0: from the beginning of the log. Each message has its cursor in its data."
        />
        <Field
          label="Up to the cursor"
          name="until"
          value={until}
          onChange={setUntil}
          issues={issues}
          hint="Empty: up to now."
        />
        <Refusal message={refused?.message ?? refusalOf(null, error)?.message ?? null} />
        <button type="submit" className="primary" disabled={isRunning || after.trim() === ''}>
          Begin the replay
        </button>
      </form>
    </Dialog>
  )
}
