/** A new trigger of an agent: a schedule, or a URL whose secret is shown once. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { unplacedText } from '../../api/outcome.ts'
import { Choice, Field } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { LongField } from '../../parts/long-fields.tsx'
import { t } from '../../texts/texts.tsx'
import { createTriggerMutation } from './trigger-documents.ts'

interface Props {
  agentId: string
  onSecret(shown: { secret: string; url: string | null }): void
  onClose(): void
}

const emptyDraft = {
  kind: 'SCHEDULE' as 'SCHEDULE' | 'HOOK',
  name: '',
  prompt: '',
  cron: '30 9 * * MON-FRI',
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
}

export function NewTrigger({ agentId, onSecret, onClose }: Props) {
  const [draft, setDraft] = useState(emptyDraft)
  const form = useMutation(createTriggerMutation)
  const issues = form.refused?.issues ?? []
  const isSchedule = draft.kind === 'SCHEDULE'
  const set = (change: Partial<typeof emptyDraft>) => {
    setDraft({ ...draft, ...change })
    form.clear()
  }
  const create = async () => {
    const { name, prompt, cron, timeZone } = draft
    const times = isSchedule ? { cron: cron.trim(), timeZone: timeZone.trim() } : {}
    const answer = await form.send({ input: { agentId, name: name.trim(), prompt, ...times } })
    if (!answer) return
    onClose()
    if (answer.secret) onSecret({ secret: answer.secret, url: answer.trigger.url })
  }
  return (
    <FormDialog
      title={t('New trigger')}
      submit={t('Create the trigger')}
      isReady={draft.name.trim() !== '' && draft.prompt !== '' && (!isSchedule || draft.cron.trim() !== '')}
      form={form}
      textOf={unplacedText}
      onSubmit={create}
      onClose={onClose}
    >
      <Choice
        label={t('What starts it')}
        value={draft.kind}
        options={[
          { value: 'SCHEDULE', name: t('A schedule') },
          { value: 'HOOK', name: t('Signed messages to a URL') },
        ]}
        onChange={(kind) => set({ kind })}
      />
      <Field
        label={t('Name')}
        value={draft.name}
        name="name"
        issues={issues}
        onChange={(name) => set({ name })}
      />
      {isSchedule && (
        <>
          <Field
            label={t('Cron line')}
            value={draft.cron}
            name="cron"
            issues={issues}
            hint={t('Minute, hour, day of month, month, day of week; at most every five minutes.')}
            onChange={(cron) => set({ cron })}
          />
          <Field
            label={t('Time zone')}
            value={draft.timeZone}
            name="timeZone"
            issues={issues}
            onChange={(timeZone) => set({ timeZone })}
          />
        </>
      )}
      <LongField
        label={t('Prompt')}
        value={draft.prompt}
        path={['prompt']}
        issues={issues}
        {...(isSchedule
          ? {}
          : {
              hint: t('A path in braces, as in {path}, stands for a value of the message.', {
                path: '{order.id}',
              }),
            })}
        onChange={(prompt) => set({ prompt })}
      />
    </FormDialog>
  )
}
