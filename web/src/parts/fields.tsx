/** Labelled fields of forms, and the faults of a mutation beside them. */
import { useId, type ReactNode } from 'react'

interface Issue {
  path: readonly string[]
  message: string
}

const none: readonly Issue[] = []

interface FieldProps {
  label: string
  value: string
  onChange(value: string): void
  hint?: string
  placeholder?: string
  isRequired?: boolean
  type?: 'text' | 'password' | 'number' | 'url' | 'datetime-local'
  /** Faults of the last mutation; those whose path has `name` stand at the field. */
  issues?: readonly Issue[]
  name?: string
  /** Values that are offered while one writes. */
  options?: readonly string[]
}

export function Field({
  label,
  value,
  onChange,
  hint,
  placeholder,
  isRequired,
  type = 'text',
  issues = none,
  name,
  options,
}: FieldProps) {
  const id = useId()
  const own = name === undefined ? [] : issues.filter(({ path }) => path[1] === name || path[0] === name)
  const described = [hint && `${id}-hint`, own.length > 0 && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>
        <span>{label}</span>
      </label>
      <input
        id={id}
        type={type}
        value={value}
        required={isRequired}
        placeholder={placeholder}
        list={options && `${id}-offers`}
        autoComplete="off"
        aria-invalid={own.length > 0 || undefined}
        aria-describedby={described || undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {options && (
        <datalist id={`${id}-offers`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {hint && (
        <p id={`${id}-hint`} className="small mute">
          {hint}
        </p>
      )}
      {own.length > 0 && (
        <p id={`${id}-fault`} className="small tone-bad" role="alert">
          {own.map(({ message }) => message).join(' ')}
        </p>
      )}
    </div>
  )
}

interface ChoiceProps<Value extends string> {
  label: string
  value: Value
  options: readonly { value: Value; name: string }[]
  onChange(value: NoInfer<Value>): void
}

export function Choice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <span>{label}</span>
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value as Value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.name}
          </option>
        ))}
      </select>
    </div>
  )
}

/** A refused mutation: its message, and the faults that no field shows. */
export function Refusal({ message, children }: { message: string | null; children?: ReactNode }) {
  if (message === null) return null
  return (
    <div className="tone-bad" role="alert">
      <p>{message}</p>
      {children}
    </div>
  )
}
