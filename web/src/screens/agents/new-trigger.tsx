/** A new trigger of an agent, a schedule or a URL whose secret is shown once; and the change of one. */
import { useState } from 'react'
import { useMutation } from '../../api/query.ts'
import { unplacedText, type Issue } from '../../api/outcome.ts'
import { Choice, Field, LongField } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { t } from '../../texts/texts.tsx'
import { createTriggerMutation, updateTriggerMutation, type TriggerRow } from './trigger-documents.ts'

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

type Draft = typeof emptyDraft

export function NewTrigger({ agentId, onSecret, onClose }: Props) {
  const [draft, setDraft] = useState(emptyDraft)
  const form = useMutation(createTriggerMutation)
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change })
    form.clear()
  }
  const create = async () => {
    const answer = await form.send({ input: { agentId, ...inputOf(draft) } })
    if (!answer) return
    onClose()
    if (answer.secret) onSecret({ secret: answer.secret, url: answer.trigger.url })
  }
  return (
    <FormDialog
      title={t('New trigger')}
      submit={t('Create the trigger')}
      isReady={isReady(draft)}
      form={form}
      textOf={unplacedText}
      onSubmit={create}
      onClose={onClose}
    >
      <Choice
        label={t('Started by|trigger')}
        value={draft.kind}
        options={[
          { value: 'SCHEDULE', name: t('A schedule') },
          { value: 'HOOK', name: t('Signed messages to a URL') },
        ]}
        onChange={(kind) => set({ kind })}
      />
      <TriggerFields draft={draft} issues={form.refused?.issues ?? []} set={set} />
    </FormDialog>
  )
}

/** `trigger` is as it was when the dialog was opened: what somebody else changes meanwhile is not overwritten. */
export function EditTrigger({ trigger, onClose }: { trigger: TriggerRow; onClose(): void }) {
  const { id: triggerId, version: expectedVersion, name, prompt, kind, cron, timeZone } = trigger
  const [draft, setDraft] = useState<Draft>({
    kind,
    name,
    prompt,
    cron: cron ?? '',
    timeZone: timeZone ?? '',
  })
  const form = useMutation(updateTriggerMutation)
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change })
    form.clear()
  }
  const save = async () => {
    if (await form.send({ input: { triggerId, expectedVersion, ...inputOf(draft) } })) onClose()
  }
  return (
    <FormDialog
      title={t('Change the trigger')}
      submit={t('Save')}
      isReady={isReady(draft)}
      form={form}
      textOf={unplacedText}
      onSubmit={save}
      onClose={onClose}
    >
      <TriggerFields draft={draft} issues={form.refused?.issues ?? []} set={set} />
      <p className="small mute">{t('Its runs start with your rights from then on.')}</p>
    </FormDialog>
  )
}

const isReady = ({ kind, name, prompt, cron }: Draft) =>
  name.trim() !== '' && prompt !== '' && (kind === 'HOOK' || cron.trim() !== '')

const inputOf = ({ kind, name, prompt, cron, timeZone }: Draft) => ({
  name: name.trim(),
  prompt,
  ...(kind === 'SCHEDULE' ? { cron: cron.trim(), timeZone: timeZone.trim() } : {}),
})

interface FieldsProps {
  draft: Draft
  issues: readonly Issue[]
  set(change: Partial<Draft>): void
}

function TriggerFields({ draft, issues, set }: FieldsProps) {
  const isSchedule = draft.kind === 'SCHEDULE'
  return (
    <>
      <Field
        label={t('Name')}
        value={draft.name}
        at="name"
        issues={issues}
        onChange={(name) => set({ name })}
      />
      {isSchedule && (
        <>
          <Field
            label={t('Cron line')}
            value={draft.cron}
            at="cron"
            issues={issues}
            hint={t('Minute, hour, day of month, month, day of week; at most every five minutes.')}
            onChange={(cron) => set({ cron })}
          />
          <Field
            label={t('Time zone')}
            value={draft.timeZone}
            at="timeZone"
            issues={issues}
            onChange={(timeZone) => set({ timeZone })}
          />
        </>
      )}
      <LongField
        label={t('Prompt')}
        value={draft.prompt}
        at={['prompt']}
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
    </>
  )
}
