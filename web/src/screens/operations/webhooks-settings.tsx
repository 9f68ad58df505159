/** The settings of a webhook, edited in place; what somebody else changed meanwhile stands beside it. */
import { useState, type FormEvent } from 'react'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { changedNames } from '../../parts/rebase.ts'
import { toast } from '../../parts/toasts.tsx'
import { updateWebhookMutation, type WebhookRow } from './webhooks-documents.ts'
import {
  draftNames,
  draftOfWebhook,
  isComplete,
  unplaced,
  updateInputOf,
  type WebhookDraft,
} from './webhooks-draft.ts'
import { WebhookFields } from './webhooks-fields.tsx'

export function Settings({ webhook, reload }: { webhook: WebhookRow; reload(): void }) {
  const standing = draftOfWebhook(webhook)
  const [began, setBegan] = useState(standing)
  const [draft, setDraft] = useState(standing)
  const [result, setResult] = useState<object | null>(null)
  const { mutate, isRunning, error } = useMutation(updateWebhookMutation)
  const isDirty = changedNames(began, draft).length > 0
  const isStale = changedNames(began, standing).length > 0
  const start = (from: WebhookDraft, next: WebhookDraft) => {
    setBegan(from)
    setDraft(next)
    setResult(null)
  }
  if (isStale && !isDirty) start(standing, standing)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    // What is sent was compared with this version.
    const expectedVersion = webhook.version
    const input = { webhookId: webhook.id, expectedVersion, ...updateInputOf(began, draft) }
    const answer = (await mutate({ input }))?.updateWebhook ?? null
    setResult(answer)
    if (answer?.__typename === 'UpdateWebhookPayload') {
      const saved = draftOfWebhook(answer.webhook)
      start(saved, saved)
      toast('The webhook is changed.', { tone: 'good' })
    }
    reload()
  }
  const refused = refusalOf(result, error)
  return (
    <section aria-label="Settings">
      <h2>Settings</h2>
      <form className="stack" noValidate onSubmit={(event) => void save(event)}>
        {isStale && isDirty && !isRunning && (
          <Conflict
            base={began}
            mine={draft}
            theirs={standing}
            nameOf={(name) => draftNames[name as keyof WebhookDraft]}
            onTake={(next) => start(standing, next)}
          />
        )}
        <WebhookFields
          draft={draft}
          onChange={(next) => {
            setDraft(next)
            setResult(null)
          }}
          issues={refused?.issues ?? []}
        />
        {!isStale && <Refusal message={unplaced(refused)} />}
        <div className="row form-foot">
          <button
            type="submit"
            className="primary"
            disabled={isRunning || !isDirty || isStale || !isComplete(draft)}
          >
            {isRunning ? 'Saving …' : 'Save'}
          </button>
          {isDirty && (
            <button type="button" onClick={() => start(standing, standing)}>
              Drop the changes
            </button>
          )}
        </div>
      </form>
    </section>
  )
}
