/** Fields of forms for texts of several lines, for JSON, and for yes and no, with the faults of a mutation beside them. */
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
  /** Where the faults of this field are, behind `input`. */
  path?: readonly string[]
}

function Around({
  hint,
  issues = none,
  path,
  render,
}: Omit<Described, 'label'> & {
  render(id: string, describedBy: string | undefined, isInvalid: boolean): ReactNode
}) {
  const id = useId()
  const own = path ? issuesAt(issues, path) : none
  const described = [hint && `${id}-hint`, own.length > 0 && `${id}-fault`].filter(Boolean).join(' ')
  return (
    <div className="field">
      {render(id, described || undefined, own.length > 0)}
      {hint && (
        <p id={`${id}-hint`} className="small mute">
          {hint}
        </p>
      )}
      {own.length > 0 && (
        <p id={`${id}-fault`} className="small tone-bad" role="alert">
          {own.map((one) => `${inner(one, path!)}${one.message}`).join('; ')}
        </p>
      )}
    </div>
  )
}

const inner = ({ path }: Issue, at: readonly string[]): string =>
  path.length > at.length + 1 ? `${path.slice(at.length + 1).join('.')} ` : ''

interface TextProps extends Described {
  value: string
  onChange(value: string): void
  rows?: number
  isMono?: boolean
  placeholder?: string
}

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
      render={(id, describedBy, isInvalid) => (
        <>
          <label htmlFor={id}>
            <span>{described.label}</span>
          </label>
          <textarea
            id={id}
            rows={rows}
            className={isMono ? 'mono' : undefined}
            spellCheck={!isMono}
            placeholder={placeholder}
            value={value}
            aria-describedby={describedBy}
            aria-invalid={isInvalid || undefined}
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
      render={() => (
        <>
          <span className="label">{described.label}</span>
          <JsonEditor initial={value} label={described.label} onChange={onChange} />
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
      render={(id, describedBy) => (
        <label className="row check" htmlFor={id}>
          <input
            id={id}
            type="checkbox"
            checked={value}
            aria-describedby={describedBy}
            onChange={(event) => onChange(event.target.checked)}
          />
          {described.label}
        </label>
      )}
    />
  )
}
