/** The settings of the Slack integration. */
import { useState } from 'react'
import { useMutation } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import type { Viewer } from '../../../api/viewer.ts'
import { SettingsForm, useSettings } from '../../../parts/settings-form.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { setSlackMutation, type Integration } from './documents.ts'
import { draftOfSlack, noSecrets, slackChanges, slackNames } from './draft.ts'
import { SlackFields } from './fields.tsx'
import { t } from '../../../texts/texts.tsx'

interface Props {
  integration: Integration
  viewer: Viewer
  reload(): void
}

export function SlackSettings({ integration, viewer, reload }: Props) {
  const settings = useSettings(draftOfSlack(integration))
  const { began, draft, setDraft, start } = settings
  const [secrets, setSecrets] = useState(noSecrets)
  const projectId = useProject()
  const mutation = useMutation(setSlackMutation)
  const changes = slackChanges(began, draft, secrets)
  const save = async () => {
    if (await mutation.send({ input: { projectId, ...changes } })) {
      start(draft)
      setSecrets(noSecrets)
      toast(t('The Slack integration is changed.'), { tone: 'good' })
    }
    reload()
  }
  return (
    <SettingsForm
      needs="slack:Set"
      settings={settings}
      names={slackNames}
      mutation={mutation}
      isDirty={Object.keys(changes).length > 0}
      isComplete={draft.channel.trim() !== ''}
      onSave={save}
      onDrop={() => setSecrets(noSecrets)}
    >
      <SlackFields
        draft={draft}
        secrets={secrets}
        isNew={false}
        isOperator={viewer.isOperator}
        issues={mutation.refused?.issues ?? []}
        onDraft={(next) => {
          setDraft(next)
          mutation.clear()
        }}
        onSecrets={(next) => {
          setSecrets(next)
          mutation.clear()
        }}
      />
    </SettingsForm>
  )
}
