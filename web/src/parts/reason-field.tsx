/** Why somebody does something: a field of a dialog, whose text is kept beside what was done. */
import { t } from '../texts/texts.tsx'
interface Props {
  label?: string
  /** The most characters. */
  most?: number
  isRequired?: boolean
  value: string
  onChange(value: string): void
}

export function ReasonField({
  label = t('Reason'),
  most = 1000,
  isRequired = false,
  value,
  onChange,
}: Props) {
  return (
    <label>
      <span>{label}</span>
      <textarea
        rows={2}
        maxLength={most}
        required={isRequired}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  )
}
