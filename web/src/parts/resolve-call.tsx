/** The dialog in which a person says what became of a call that was sent and never answered. */
import { useState } from 'react'
import './forms.css'
import './resolve-call.css'
import { command } from '../api/command.ts'
import { wholeText } from '../api/outcome.ts'
import { useMutation } from '../api/query.ts'
import { wordsOf } from './badge.tsx'
import { CopyId } from './copy-id.tsx'
import { FormDialog } from './form-dialog.tsx'
import { Arguments } from './json-view.tsx'
import { Moment } from './moments.tsx'
import { noOutput, OutputField, readOutput } from './output-field.tsx'
import { ReasonField } from './reason-field.tsx'
import { toast } from './toasts.tsx'
import { t } from '../texts/texts.tsx'

const resolveMutation = command('resolveUnknownCall')

const outcomes = {
  SUCCEEDED: {
    title: t('It took effect'),
    submit: t('It took effect'),
    risk: t('I checked: it took effect'),
  },
  FAILED: { title: t('It did not take effect'), submit: t('It did not take effect'), risk: null },
  RUN_AGAIN: {
    title: t('Run it again'),
    submit: t('Run it again'),
    risk: t('I understand that it may happen twice'),
  },
} as const
type Outcome = keyof typeof outcomes

export interface UnknownCall {
  id: string
  name: string
  arguments: unknown
  /** A program that runs its calls itself asks again by itself. */
  tool?: { __typename?: string } | null
  attempts: readonly {
    attempt: number
    startedAt: string
    outcome: string | null
    errorCode: string | null
    idempotencyKey: string
  }[]
}

/** The key that the tool got with the call: whoever looks there can find the call by it. */
export function SentKey({ call }: { call: UnknownCall }) {
  return <CopyId id={call.attempts.at(-1)?.idempotencyKey ?? call.id} label={t('key')} />
}

export function ResolveCall({ call, onClose }: { call: UnknownCall; onClose(): void }) {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [output, setOutput] = useState(noOutput)
  const [reason, setReason] = useState('')
  const [isSure, setSure] = useState(false)
  const form = useMutation(resolveMutation)
  const { submit, risk } = outcome ? outcomes[outcome] : { submit: t('Save'), risk: null }
  const isAgain = outcome === 'RUN_AGAIN'
  const read = readOutput(output)
  const isBroken = !isAgain && 'broken' in read
  const save = async () => {
    if (!outcome) return
    const given = isAgain || 'broken' in read || output.text.trim() === '' ? {} : { output: read.value }
    const input = { toolCallId: call.id, outcome, reason: reason.trim(), ...given }
    if (!(await form.send({ input }))) return
    toast(
      isAgain ? t('{name} runs again.', { name: call.name }) : t('{name} is resolved.', { name: call.name }),
      { tone: 'good' },
    )
    onClose()
  }
  return (
    <FormDialog
      title={t('What happened to {name}?', { name: call.name })}
      submit={submit}
      busy={t('Sending …')}
      isDanger={isAgain}
      isReady={outcome !== null && reason.trim() !== '' && !isBroken && (risk === null || isSure)}
      form={form}
      textOf={wholeText}
      onSubmit={save}
      onClose={onClose}
      cancel={t('Cancel')}
    >
      <Sent call={call} />
      <fieldset className="outcomes">
        <legend className="label">{t('Outcome')}</legend>
        {(Object.keys(outcomes) as Outcome[])
          .filter((one) => one !== 'RUN_AGAIN' || call.tool?.__typename !== 'ClientTool')
          .map((one) => (
            <label key={one} className="row check">
              <input
                type="radio"
                name="outcome"
                checked={outcome === one}
                onChange={() => {
                  setOutcome(one)
                  setSure(false)
                }}
              />
              {outcomes[one].title}
            </label>
          ))}
      </fieldset>
      {outcome && !isAgain && (
        <div>
          <p className="label">
            {outcome === 'FAILED' ? t('The error, for the record') : t('The output, for the record')}
          </p>
          <OutputField output={output} label={t('Output of the call')} onChange={setOutput} />
        </div>
      )}
      <ReasonField
        label={t('Reason for the audit (required)')}
        most={2000}
        isRequired
        value={reason}
        onChange={setReason}
      />
      {isAgain && (
        <p>
          {t(
            'The tool is called once more with the same Idempotency-Key. If the first call took effect and the tool does not know keys, it happens twice.',
          )}
        </p>
      )}
      {risk && (
        <label className="row check">
          <input type="checkbox" checked={isSure} onChange={(event) => setSure(event.target.checked)} />
          {risk}
        </label>
      )}
    </FormDialog>
  )
}

/** What was sent, when, and under which key. */
function Sent({ call }: { call: UnknownCall }) {
  return (
    <>
      <Arguments value={(call.arguments ?? {}) as Record<string, unknown>} />
      <dl className="attempts">
        {call.attempts.map((attempt) => (
          <div key={attempt.attempt}>
            <dt>{t('Attempt {attempt}', { attempt: attempt.attempt })}</dt>
            <dd>
              <Moment at={attempt.startedAt} />,{' '}
              {attempt.errorCode ?? (attempt.outcome === null ? t('no answer') : wordsOf(attempt.outcome))}
            </dd>
          </div>
        ))}
        <div>
          <dt>{t('Idempotency-Key')}</dt>
          <dd>
            <SentKey call={call} />
          </dd>
        </div>
      </dl>
    </>
  )
}
