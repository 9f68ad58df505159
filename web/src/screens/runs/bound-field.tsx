/** A number that a list is bounded by, in the words of people. */
import { Field } from '../../parts/fields.tsx'
import { useTyping } from '../../parts/filters.tsx'
import { t } from '../../texts/texts.tsx'

interface BoundFieldProps {
  label: string
  placeholder: string
  /** Null: no bound. */
  value: number | null
  textOf(value: number): string
  /** NaN for a text that is none. */
  valueOf(text: string): number
  /** What is wrong with a value; null: nothing. */
  faultOf(value: number): string | null
  onChange(value: number | null): void
}

/** A number that a list is bounded by, as people write it. */
export function BoundField({
  label,
  placeholder,
  value,
  textOf,
  valueOf,
  faultOf,
  onChange,
}: BoundFieldProps) {
  const faultIn = (text: string) => {
    if (text.trim() === '') return null
    const means = valueOf(text)
    return Number.isNaN(means) ? t('Write it like {example}', { example: placeholder }) : faultOf(means)
  }
  const [text, type] = useTyping(
    value,
    (own) => (own === null ? '' : textOf(own)),
    (typed) => (faultIn(typed) === null ? (typed.trim() === '' ? null : valueOf(typed)) : undefined),
    onChange,
  )
  const fault = faultIn(text)
  return (
    <Field
      label={label}
      at="bound"
      value={text}
      placeholder={placeholder}
      issues={fault === null ? [] : [{ path: ['input', 'bound'], message: fault }]}
      onChange={type}
    />
  )
}
