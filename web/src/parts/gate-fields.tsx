/** The fields of a gate: when it stops a call, who decides, and for how long. */
import './gate-fields.css'
import { useState } from 'react'
import type { Issue } from '../api/outcome.ts'
import { ConditionRows } from './gate-conditions.tsx'
import { switchForm, type Draft, type Mode, type Role } from './gate-draft.ts'
import { spanFrom, spanText } from './durations.ts'
import { Field, issuesAt, JsonField } from './fields.tsx'
import { propertiesOf } from './gate-properties.ts'
import type { Schema } from './schema-form-resolve.ts'
import { wordsOf } from './badge.tsx'
import { Faults } from './fault.tsx'
import { t } from '../texts/texts.tsx'

const modes: readonly { mode: Mode; word: string; about: string }[] = [
  { mode: 'NEVER', word: t('Never'), about: t('Every call passes.') },
  { mode: 'ALWAYS', word: t('Always'), about: t('Every call waits for a person.') },
  { mode: 'WHEN', word: t('When|condition'), about: t('Calls that match the conditions wait for a person.') },
]
/** The roles that may decide. One that a gate has beside them stays until it is removed. */
const deciders: readonly Role[] = ['ADMIN', 'APPROVER']

interface Props {
  draft: Draft
  onChange(draft: Draft): void
  /** The arguments of the calls, presets included; null: not known. */
  schema: Schema | null
  /** Whether the gate can have a sentence of its own. */
  hasTitle: boolean
  /** Whether conditions can be written. */
  hasConditions?: boolean
  faults: readonly Issue[]
  /** Faults that the server found in the gate; their paths begin at the gate. */
  issues: readonly Issue[]
}

export function GateFields(props: Props) {
  const { draft, onChange, schema, hasTitle, hasConditions = true, faults, issues } = props
  const set = (part: Partial<Draft>) => onChange({ ...draft, ...part })
  return (
    <div className="stack gate-fields">
      <fieldset className="gate-modes">
        <legend className="label">{t('Stops calls')}</legend>
        {modes.slice(0, hasConditions ? 3 : 2).map(({ mode, word, about }) => (
          <label key={mode} className="row">
            <input
              type="radio"
              name="gate-mode"
              checked={draft.mode === mode}
              onChange={() => set({ mode })}
            />
            <span className="gate-mode">{word}</span>
            <span className="mute small">{about}</span>
          </label>
        ))}
      </fieldset>
      {draft.mode === 'WHEN' && (
        <Conditions draft={draft} onChange={onChange} schema={schema} faults={faults} issues={issues} />
      )}
      {draft.mode !== 'NEVER' && <Deciders draft={draft} set={set} faults={faults} />}
      {hasTitle && (
        <Field
          label={t('What a call does, in one sentence')}
          at="title"
          value={draft.title}
          onChange={(title) => set({ title })}
          hint={titleHint(schema)}
          placeholder={t('The name of the tool and its first arguments')}
          issues={issues}
        />
      )}
      {issues
        .filter(({ path }) => path[1] !== 'when' && !(hasTitle && path[1] === 'title'))
        .map(({ path, message }) => (
          <p key={`${path.join('.')} ${message}`} className="tone-bad small" role="alert">
            <span className="mono">{path.slice(1).join('.')}</span> {message}
          </p>
        ))}
    </div>
  )
}

/** How arguments are named in the sentence, with the first two of these calls. */
function titleHint(schema: Schema | null): string {
  const names = propertiesOf(schema).flatMap(({ path }) => (path.length === 1 ? [`{${path[0]}}`] : []))
  const known =
    names.length > 0 ? t(', such as {names}', { names: names.slice(0, 2).join(` ${t('or')} `) }) : ''
  return t('Shown first to whoever decides. The name of an argument in braces stands for its value{known}.', {
    known,
  })
}

function Conditions({ draft, onChange, schema, faults, issues }: Omit<Props, 'hasTitle'>) {
  const [edition, setEdition] = useState(0)
  const { when } = draft
  const other = switchForm(draft)
  const about = issuesAt(faults, ['when'])
  return (
    <section className="gate-when" aria-label={t('Conditions')}>
      <div className="row">
        <h3>{t('Conditions')}</h3>
        <button
          type="button"
          className="quiet spread"
          disabled={!other}
          title={other ? undefined : t('Rows cannot express this schema')}
          onClick={() => {
            if (other) onChange(other)
            setEdition(edition + 1)
          }}
        >
          {when.as === 'rows' ? t('As JSON Schema') : t('As rows')}
        </button>
      </div>
      {when.as === 'rows' ? (
        <ConditionRows
          rules={when.rules}
          known={propertiesOf(schema)}
          faults={about}
          onChange={(rules) => onChange({ ...draft, when: { as: 'rows', rules } })}
        />
      ) : (
        <>
          <JsonField
            key={edition}
            label={t('JSON Schema of the calls to stop')}
            value={when.text}
            onChange={(text) => onChange({ ...draft, when: { as: 'json', text } })}
            hint={t('Calls whose arguments, presets included, match it are held.')}
            issues={issues}
            at={['when']}
          />
          <Faults of={about} />
        </>
      )}
      {when.as === 'rows' && <Faults of={issuesAt(issues, ['when'])} from={2} />}
    </section>
  )
}

interface DecidersProps {
  draft: Draft
  set(part: Partial<Draft>): void
  faults: readonly Issue[]
}

const flags = [
  { key: 'excludeRequester', label: t('The requester can’t approve') },
  {
    key: 'verdictLinks',
    label: t('Recipients of a webhook may decide by a link and a code, without signing in'),
  },
  { key: 'responses', label: t('Approvers may answer in place of the tool') },
] as const

function Deciders({ draft, set, faults }: DecidersProps) {
  const isOn = draft.escalateAfterSeconds !== null
  const [first] = useState(draft.approvers)
  const toggle = (role: Role) =>
    set({
      approvers: draft.approvers.includes(role)
        ? draft.approvers.filter((one) => one !== role)
        : [...draft.approvers, role],
    })
  return (
    <>
      <div className="gate-numbers">
        <Field
          type="number"
          label={t('Approvals by different people')}
          at="quorum"
          value={Number.isNaN(draft.quorum) ? '' : String(draft.quorum)}
          issues={faults}
          onChange={(quorum) => set({ quorum: quorum === '' ? NaN : Number(quorum) })}
        />
        <SpanField
          label={t('Time to decide')}
          name="timeoutSeconds"
          value={draft.timeoutSeconds}
          faults={faults}
          onChange={(timeoutSeconds) => set({ timeoutSeconds })}
        />
      </div>
      <fieldset className="gate-roles">
        <legend className="label">
          {t('Who may decide; none selected: everyone with approvals:Decide')}
        </legend>
        {[...new Set([...deciders, ...first])].map((role) => (
          <label key={role} className="row">
            <input type="checkbox" checked={draft.approvers.includes(role)} onChange={() => toggle(role)} />
            {wordsOf(role)}
          </label>
        ))}
      </fieldset>
      {flags.map(({ key, label }) => (
        <label key={key} className="row">
          <input
            type="checkbox"
            checked={draft[key]}
            onChange={(event) => set({ [key]: event.target.checked })}
          />
          {label}
        </label>
      ))}
      <label className="row">
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) =>
            set({
              escalateAfterSeconds: event.target.checked
                ? Math.max(1, Math.floor(draft.timeoutSeconds / 2))
                : null,
            })
          }
        />
        {t('Escalate when nobody decides: admins may decide too')}
      </label>
      {isOn && (
        <div className="gate-numbers">
          <SpanField
            label={t('Escalate after')}
            name="escalateAfterSeconds"
            value={draft.escalateAfterSeconds ?? 0}
            faults={faults}
            onChange={(escalateAfterSeconds) => set({ escalateAfterSeconds })}
          />
        </div>
      )}
    </>
  )
}

interface SpanProps {
  label: string
  name: string
  value: number
  faults: readonly Issue[]
  onChange(value: number): void
}

const offers = [300, 3600, 86_400, 604_800]

/** A time as `5 min`, with some that are offered. It keeps the text that is being written. */
function SpanField({ label, name, value, faults, onChange }: SpanProps) {
  const [text, setText] = useState(spanText(value))
  const shown = Object.is(spanFrom(text), value) ? text : spanText(value)
  return (
    <Field
      label={label}
      at={name}
      value={shown}
      options={offers.map(spanText)}
      issues={faults}
      onChange={(next) => {
        setText(next)
        onChange(spanFrom(next))
      }}
    />
  )
}
