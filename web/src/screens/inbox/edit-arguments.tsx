/** The editor of the arguments, and every place that was changed, before and after. */
import { Changes } from '../../parts/changes.tsx'
import { JsonEditor } from '../../parts/json-editor.tsx'
import { Boundary } from '../../parts/states.tsx'
import type { Edit } from './edit.ts'

interface Props {
  /** The text at the beginning. */
  text: string
  edit: Edit
  issues: readonly { path: readonly string[]; message: string }[]
  onChange(text: string): void
  onCancel(): void
}

export function EditArguments({ text, edit, issues, onChange, onCancel }: Props) {
  return (
    <div className="stack">
      <div className="row">
        <h2>Edit the arguments</h2>
        <button type="button" className="quiet spread" onClick={onCancel}>
          Drop the changes
        </button>
      </div>
      <Boundary
        renderFallback={() => (
          <textarea
            className="mono"
            rows={10}
            aria-label="Arguments as JSON"
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      >
        <JsonEditor initial={text} label="Arguments as JSON" onChange={onChange} isFocused />
      </Boundary>
      {edit.state === 'broken' && (
        <p className="tone-bad" role="alert">
          {edit.message}
        </p>
      )}
      {issues.map(({ path, message }) => (
        <p key={`${path.join('.')} ${message}`} className="tone-bad" role="alert">
          <span className="mono">{path.filter((part) => part !== 'input').join('.')}</span> {message}
        </p>
      ))}
      {edit.state === 'changed' && <Changes changes={edit.changes} label="Changes" />}
    </div>
  )
}
