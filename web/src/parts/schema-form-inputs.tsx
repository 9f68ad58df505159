/** Fields for one value each. */
import { useEffect, useId, useState } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import { parseExactly } from './exact-json.ts'
import { JsonEditor } from './json-editor.tsx'
import { useForm } from './schema-form-context.ts'
import type { Field } from './schema-form-model.ts'
import { isSame, localMoment, momentFrom, numberFrom } from './schema-form-values.ts'
import { Fault } from './fault.tsx'
import { t } from '../texts/texts.tsx'

interface InputProps {
  id: string
  value: unknown
  isRequired: boolean
  describedBy: string | undefined
  isInvalid: boolean
  onChange(value: unknown): void
  onBlur(): void
}

const common = ({ id, describedBy, isInvalid, isRequired, onBlur }: InputProps) => ({
  id,
  onBlur,
  'aria-describedby': describedBy,
  'aria-invalid': isInvalid || undefined,
  'aria-required': isRequired || undefined,
})

const types = {
  plain: 'text',
  'date-time': 'datetime-local',
  date: 'date',
  email: 'email',
  uri: 'url',
  secret: 'password',
} as const

export function TextInput({ field, ...props }: InputProps & { field: Field & { kind: 'text' } }) {
  const { value, onChange } = props
  const text = typeof value === 'string' ? value : ''
  const set = (next: string) => onChange(next === '' ? undefined : next)
  if (field.format === 'date-time') return <MomentInput {...props} />
  if (field.isLong || (field.format === 'plain' && field.maxLength === null))
    return (
      <textarea
        {...common(props)}
        className="grows"
        rows={field.isLong ? 3 : 1}
        value={text}
        onChange={(event) => set(event.target.value)}
      />
    )
  return (
    <input
      {...common(props)}
      type={types[field.format]}
      autoComplete={field.format === 'secret' ? 'new-password' : 'off'}
      spellCheck={field.format === 'plain'}
      value={text}
      onChange={(event) => set(event.target.value)}
    />
  )
}

/** A moment in the time of this machine; a text that is no moment is shown as it is. */
function MomentInput(props: InputProps) {
  const { value, onChange } = props
  const local = localMoment(value)
  if (typeof value === 'string' && local === '')
    return (
      <input
        {...common(props)}
        value={value}
        onChange={(event) => onChange(event.target.value || undefined)}
      />
    )
  return (
    <input
      {...common(props)}
      type="datetime-local"
      step={1}
      value={local}
      onChange={(event) => onChange(momentFrom(event.target.value))}
    />
  )
}

/** Keeps the text that is being written, such as `1e`, until it is a number. */
export function NumberInput({ field, ...props }: InputProps & { field: Field & { kind: 'number' } }) {
  const { value, onChange } = props
  const [text, setText] = useState<string | null>(null)
  const shown =
    text !== null && isSame(numberFrom(text), value) ? text : value === undefined ? '' : String(value)
  return (
    <input
      {...common(props)}
      inputMode={field.isInteger ? 'numeric' : 'decimal'}
      autoComplete="off"
      placeholder={rangeText(field)}
      value={shown}
      onChange={(event) => {
        setText(event.target.value)
        onChange(numberFrom(event.target.value))
      }}
    />
  )
}

function rangeText({
  minimum,
  maximum,
}: {
  minimum: number | null
  maximum: number | null
}): string | undefined {
  if (minimum !== null && maximum !== null) return t('{minimum} to {maximum}', { minimum, maximum })
  if (minimum !== null) return t('at least {minimum}', { minimum })
  return maximum === null ? undefined : t('at most {maximum}', { maximum })
}

/** One of some values; the first entry leaves the value out, or asks for a choice. */
export function ChoiceInput({
  options,
  ...props
}: InputProps & { options: readonly { label: string; value: unknown }[] }) {
  const { value, isRequired, onChange } = props
  const at = options.findIndex((one) => isSame(one.value, value))
  return (
    <select
      {...common(props)}
      value={at < 0 ? '' : String(at)}
      onChange={(event) =>
        onChange(event.target.value === '' ? undefined : options[Number(event.target.value)]!.value)
      }
    >
      <option value="">{isRequired ? t('Select …') : t('Leave out')}</option>
      {options.map((one, index) => (
        <option key={one.label} value={index}>
          {one.label}
        </option>
      ))}
    </select>
  )
}

export const booleans = [
  { label: 'true', value: true },
  { label: 'false', value: false },
] as const

/** Any value as JSON; text that is no JSON is told, here and to the form, and the last value stays. */
export function JsonInput({ value, label, onChange }: InputProps & { label: string }) {
  const { tellFault } = useForm()
  const id = useId()
  const [initial] = useState(() => (value === undefined ? '' : writeJson(value, 2)))
  const [fault, setFault] = useState<string | null>(null)
  useEffect(() => {
    tellFault(id, fault)
    return () => tellFault(id, null)
  }, [tellFault, id, fault])
  const change = (text: string) => {
    if (text.trim() === '') {
      setFault(null)
      return onChange(undefined)
    }
    try {
      const next = parseExactly(text)
      setFault(null)
      onChange(next)
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      <JsonEditor initial={initial} label={t('{label} as JSON', { label })} onChange={change} />
      <Fault text={fault && t('This is not JSON yet, so the value before it is kept. {fault}', { fault })} />
    </>
  )
}
