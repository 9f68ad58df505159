/** The fields of one argument. */
import { Choice, Field } from '../../../parts/fields.tsx'
import { Icon } from '../../../parts/icons.tsx'
import { Check, LongField } from '../../../parts/long-fields.tsx'
import { rowTypes, withType, type ArgumentRow, type ArgumentType } from './rows.ts'

const words: Record<ArgumentType, string> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'yes or no',
  array: 'list',
  object: 'object',
  any: 'anything',
}
const types = rowTypes.map((value) => ({ value, name: words[value] }))

interface Props {
  row: ArgumentRow
  at: number
  fault: string | null
  onChange(row: ArgumentRow): void
  onRemove(): void
}

export function ArgumentFields({ row, at, fault, onChange, onRemove }: Props) {
  const set = (part: Partial<ArgumentRow>) => onChange({ ...row, ...part })
  const others = Object.keys(row.rest)
  const takesValues = !['array', 'object', 'any'].includes(row.type)
  return (
    <li className="argument" aria-label={row.name === '' ? `Argument ${at + 1}` : row.name}>
      <Field label="Name" value={row.name} onChange={(name) => set({ name: name.trim() })} isRequired />
      <Choice
        label="Type"
        value={row.type}
        options={types}
        onChange={(type) => onChange(withType(row, type))}
      />
      <Check label="required" value={row.isRequired} onChange={(isRequired) => set({ isRequired })} />
      <button
        type="button"
        className="quiet"
        aria-label={`Remove ${row.name === '' ? `argument ${at + 1}` : row.name}`}
        onClick={onRemove}
      >
        <Icon name="cross" />
      </button>
      <div className="argument-wide">
        <Field
          label="Description for the model"
          value={row.description}
          onChange={(description) => set({ description })}
        />
      </div>
      <details className="argument-wide">
        <summary className="small">
          {row.title || row.values ? 'Title and allowed values' : 'Add a title or allowed values'}
        </summary>
        <div className="field-pair">
          <Field label="Title" value={row.title} onChange={(title) => set({ title })} hint="For people." />
          {takesValues && (
            <LongField
              label="Allowed values"
              value={row.values}
              onChange={(values) => set({ values })}
              hint="One a line; empty: all."
            />
          )}
        </div>
      </details>
      {others.length > 0 && (
        <p className="argument-wide small mute">
          Also has {others.join(', ')}, kept as it is: see JSON Schema.
        </p>
      )}
      {fault !== null && (
        <p className="argument-wide small tone-bad" role="alert">
          {fault}
        </p>
      )}
    </li>
  )
}
