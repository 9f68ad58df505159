/** The settings of a webhook. */
import { useMutation } from '../../../api/query.ts'
import { SettingsForm, useSettings } from '../../../parts/settings-form.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { updateWebhookMutation, type WebhookRow } from './documents.ts'
import { draftNames, draftOfWebhook, isComplete, updateInputOf } from './draft.ts'
import { WebhookFields } from './fields.tsx'
import { t } from '../../../texts/texts.tsx'

export function Settings({ webhook, reload }: { webhook: WebhookRow; reload(): void }) {
  const settings = useSettings(draftOfWebhook(webhook))
  const { began, draft, setDraft, isEdited, start } = settings
  const mutation = useMutation(updateWebhookMutation)
  const save = async () => {
    // What is sent was compared with this version.
    const expectedVersion = webhook.version
    const input = { webhookId: webhook.id, expectedVersion, ...updateInputOf(began, draft) }
    const answer = await mutation.send({ input })
    if (answer) {
      start(draftOfWebhook(answer.webhook))
      toast(t('The webhook is changed.'), { tone: 'good' })
    }
    reload()
  }
  return (
    <SettingsForm
      needs="webhooks:Update"
      settings={settings}
      names={draftNames}
      mutation={mutation}
      isDirty={isEdited}
      isComplete={isComplete(draft)}
      onSave={save}
    >
      <WebhookFields
        draft={draft}
        onChange={(next) => {
          setDraft(next)
          mutation.clear()
        }}
        issues={mutation.refused?.issues ?? []}
      />
    </SettingsForm>
  )
}
