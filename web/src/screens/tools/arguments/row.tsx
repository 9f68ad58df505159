/** The fields of one argument. */
import { Check, Choice, Field, LongField } from '../../../parts/fields.tsx'
import { Icon } from '../../../parts/icons.tsx'
import { rowTypes, withType, type ArgumentRow, type ArgumentType } from './rows.ts'
import { Fault } from '../../../parts/fault.tsx'
import { t } from '../../../texts/texts.tsx'

const words: Record<ArgumentType, string> = {
  string: t('text'),
  number: t('number'),
  integer: t('whole number'),
  boolean: t('yes or no'),
  array: t('list'),
  object: t('object'),
  any: t('anything'),
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
    <li className="argument" aria-label={row.name === '' ? t('Argument {at}', { at: at + 1 }) : row.name}>
      <Field label={t('Name')} value={row.name} onChange={(name) => set({ name: name.trim() })} isRequired />
      <Choice
        label={t('Type')}
        value={row.type}
        options={types}
        onChange={(type) => onChange(withType(row, type))}
      />
      <Check label={t('required')} value={row.isRequired} onChange={(isRequired) => set({ isRequired })} />
      <button
        type="button"
        className="quiet"
        aria-label={
          row.name === '' ? t('Remove argument {at}', { at: at + 1 }) : t('Remove {name}', { name: row.name })
        }
        onClick={onRemove}
      >
        <Icon name="cross" />
      </button>
      <div className="argument-wide">
        <Field
          label={t('Description for the model')}
          value={row.description}
          onChange={(description) => set({ description })}
        />
      </div>
      <details className="argument-wide">
        <summary className="small">
          {row.title || row.values ? t('Title and allowed values') : t('Add a title or allowed values')}
        </summary>
        <div className="field-pair">
          <Field
            label={t('Title')}
            value={row.title}
            onChange={(title) => set({ title })}
            hint={t('For people.')}
          />
          {takesValues && (
            <LongField
              label={t('Allowed values')}
              value={row.values}
              onChange={(values) => set({ values })}
              hint={t('One a line; empty: all.')}
            />
          )}
        </div>
      </details>
      {others.length > 0 && (
        <p className="argument-wide small mute">
          {t('Also has {others}, kept as it is: see JSON Schema.', { others: others.join(', ') })}
        </p>
      )}
      <Fault className="argument-wide small" text={fault} />
    </li>
  )
}
