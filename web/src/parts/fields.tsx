/** Labelled fields of forms, each with its hint, and with the faults of the last mutation that are its own. */
import { Fault } from './fault.tsx'
import './forms.css'
import { useId, type ReactNode } from 'react'
import type { Issue } from '../api/outcome.ts'
import { JsonEditor } from './json-editor.tsx'

const none: readonly Issue[] = []

/** The faults at a place: `path` begins behind `input`. */
export const issuesAt = (issues: readonly Issue[], path: readonly string[]): Issue[] =>
  issues.filter((one) => path.every((part, at) => one.path[at + 1] === part))

interface Described {
  label: string
  hint?: string
  issues?: readonly Issue[]
  /** Where the faults of this field are, behind `input`: a name, or a path. */
  at?: string | readonly string[]
}

/** What ties a field to its label, its hint and its faults. */
interface Ties {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

function Around({
  hint,
  issues = none,
  at,
  render,
}: Omit<Described, 'label'> & { render(ties: Ties): ReactNode }) {
  const id = useId()
  const path = typeof at === 'string' ? [at] : at
  const own = path ? issuesAt(issues, path) : none
  const described = [hint && `${id}-hint`, own.length > 0 && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div className="field">
      {render({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': own.length > 0 || undefined,
      })}
      {hint && (
        <p id={`${id}-hint`} className="small mute">
          {hint}
        </p>
      )}
      <Fault id={`${id}-fault`} text={own.map((one) => `${inner(one, path!)}${one.message}`).join('; ')} />
    </div>
  )
}

const inner = ({ path }: Issue, at: readonly string[]): string =>
  path.length > at.length + 1 ? `${path.slice(at.length + 1).join('.')} ` : ''

const Label = ({ of, children }: { of: string; children: ReactNode }) => (
  <label htmlFor={of}>
    <span>{children}</span>
  </label>
)

interface FieldProps extends Described {
  value: string
  onChange(value: string): void
  placeholder?: string
  isRequired?: boolean
  type?: 'text' | 'password' | 'number' | 'url' | 'datetime-local'
  /** Values that are offered while one writes. */
  options?: readonly string[]
}

export function Field({
  value,
  onChange,
  placeholder,
  isRequired,
  type = 'text',
  options,
  ...described
}: FieldProps) {
  return (
    <Around
      {...described}
      render={(ties) => (
        <>
          <Label of={ties.id}>{described.label}</Label>
          <input
            {...ties}
            type={type}
            value={value}
            required={isRequired}
            placeholder={placeholder}
            list={options && `${ties.id}-offers`}
            autoComplete="off"
            onChange={(event) => onChange(event.target.value)}
          />
          {options && (
            <datalist id={`${ties.id}-offers`}>
              {options.map((option) => (
                <option key={option} value={option} />
              ))}
            </datalist>
          )}
        </>
      )}
    />
  )
}

interface TextProps extends Described {
  value: string
  onChange(value: string): void
  rows?: number
  isMono?: boolean
  placeholder?: string
}

/** A text of several lines. */
export function LongField({
  value,
  onChange,
  rows = 3,
  isMono = false,
  placeholder,
  ...described
}: TextProps) {
  return (
    <Around
      {...described}
      render={(ties) => (
        <>
          <Label of={ties.id}>{described.label}</Label>
          <textarea
            {...ties}
            rows={rows}
            className={isMono ? 'mono' : undefined}
            spellCheck={!isMono}
            placeholder={placeholder}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        </>
      )}
    />
  )
}

/** JSON as text. Give it a `key` that changes when another text is to be shown. */
export function JsonField({ value, onChange, ...described }: Omit<TextProps, 'rows' | 'isMono'>) {
  return (
    <Around
      {...described}
      render={(ties) => (
        <>
          <span className="label">{described.label}</span>
          <div tabIndex={-1} data-invalid={ties['aria-invalid']} aria-describedby={ties['aria-describedby']}>
            <JsonEditor initial={value} label={described.label} onChange={onChange} />
          </div>
        </>
      )}
    />
  )
}

export function Check({
  value,
  onChange,
  ...described
}: Described & { value: boolean; onChange(value: boolean): void }) {
  return (
    <Around
      {...described}
      render={(ties) => (
        <label className="row check" htmlFor={ties.id}>
          <input
            {...ties}
            type="checkbox"
            checked={value}
            onChange={(event) => onChange(event.target.checked)}
          />
          {described.label}
        </label>
      )}
    />
  )
}

interface ChoiceProps<Value extends string> extends Described {
  value: Value
  options: readonly { value: Value; name: string }[]
  onChange(value: NoInfer<Value>): void
}

export function Choice<Value extends string>({ value, options, onChange, ...described }: ChoiceProps<Value>) {
  return (
    <Around
      {...described}
      render={(ties) => (
        <>
          <Label of={ties.id}>{described.label}</Label>
          <select {...ties} value={value} onChange={(event) => onChange(event.target.value as Value)}>
            {options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.name}
              </option>
            ))}
          </select>
        </>
      )}
    />
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
