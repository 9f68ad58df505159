/** Conditions as rows: property, operator, value. */
import { useId, useState } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import type { Issue } from '../api/outcome.ts'
import { emptyRow } from './gate-draft.ts'
import {
  operatorsOf,
  operatorWords,
  valueFrom,
  valuesFrom,
  valueText,
  type KnownProperty,
} from './gate-properties.ts'
import { isAboutPresence, type Operator, type Row, type Rules } from './gate-rules.ts'
import { Icon } from './icons.tsx'
import { isDeepSame } from './deep-same.ts'
import { Fault } from './fault.tsx'
import { t } from '../texts/texts.tsx'

interface Props {
  rules: Rules
  known: readonly KnownProperty[]
  faults: readonly Issue[]
  onChange(rules: Rules): void
}

export function ConditionRows({ rules, known, faults, onChange }: Props) {
  const { match, rows } = rules
  // Rows are drawn anew after one was removed: a field keeps the text that is being written.
  const [removals, setRemovals] = useState(0)
  const set = (at: number, row: Row) => onChange({ match, rows: rows.with(at, row) })
  const remove = (at: number) => {
    setRemovals(removals + 1)
    onChange({ match, rows: rows.filter((_, other) => other !== at) })
  }
  return (
    <div className="conditions">
      {rows.length > 1 && (
        <label className="row">
          <span className="label">{t('A call is held when it matches')}</span>
          <select
            value={match}
            onChange={(event) => onChange({ match: event.target.value as Rules['match'], rows })}
          >
            <option value="all">{t('all of these')}</option>
            <option value="any">{t('one of these')}</option>
          </select>
        </label>
      )}
      <ul>
        {rows.map((row, at) => (
          <ConditionRow
            key={writeJson([removals, at])}
            row={row}
            at={at}
            known={known}
            fault={faults.find(({ path }) => path[2] === String(at))?.message ?? null}
            onChange={(next) => set(at, next)}
            onRemove={() => remove(at)}
          />
        ))}
      </ul>
      {rows.length === 0 && <p className="tone-bad small">{t('A gate of this kind needs a condition.')}</p>}
      <button
        type="button"
        className="quiet form-add"
        onClick={() => onChange({ match, rows: [...rows, emptyRow] })}
      >
        <Icon name="plus" /> {t('Add a condition')}
      </button>
    </div>
  )
}

interface RowProps {
  row: Row
  at: number
  known: readonly KnownProperty[]
  fault: string | null
  onChange(row: Row): void
  onRemove(): void
}

function ConditionRow({ row, at, known, fault, onChange, onRemove }: RowProps) {
  const one = known.find(({ path }) => isDeepSame(path, row.path))
  const operators = operatorsOf(one)
  const shown = operators.includes(row.operator) ? operators : [row.operator, ...operators]
  const choose = (path: readonly string[]) => {
    const next = known.find((other) => isDeepSame(other.path, path))
    const operator = operatorsOf(next).includes(row.operator) ? row.operator : operatorsOf(next)[0]!
    onChange({ ...row, path, operator, value: next?.kind === one?.kind ? row.value : undefined })
  }
  return (
    <li className="condition">
      <PropertyInput row={row} at={at} known={known} onChoose={choose} />
      <select
        aria-label={t('Operator of condition {at}', { at: at + 1 })}
        value={row.operator}
        onChange={(event) => onChange(withOperator(row, event.target.value as Operator))}
      >
        {shown.map((operator) => (
          <option key={operator} value={operator}>
            {operatorWords[operator]}
          </option>
        ))}
      </select>
      {isAboutPresence(row.operator) ? (
        <span />
      ) : (
        <ValueInput row={row} at={at} known={one} onChange={(value) => onChange({ ...row, value })} />
      )}
      <button
        type="button"
        className="quiet"
        aria-label={t('Remove condition {at}', { at: at + 1 })}
        onClick={onRemove}
      >
        <Icon name="cross" />
      </button>
      {!isAboutPresence(row.operator) && (
        <label className="row small or-missing">
          <input
            type="checkbox"
            checked={row.orMissing}
            onChange={(event) => onChange({ ...row, orMissing: event.target.checked })}
          />
          {t('or the property is not given')}
        </label>
      )}
      <Fault text={fault} />
    </li>
  )
}

/** Another operator; a value of another form is dropped. */
function withOperator(row: Row, operator: Operator): Row {
  if (isAboutPresence(operator)) return { ...row, operator, value: null, orMissing: false }
  const isList = operator === 'is one of' || operator === 'is none of'
  const wasList = Array.isArray(row.value)
  const value = row.value === null ? undefined : row.value
  if (isList && !wasList) return { ...row, operator, value: value === undefined ? undefined : [value] }
  return { ...row, operator, value: !isList && wasList ? (row.value as unknown[])[0] : value }
}

interface PropertyProps {
  row: Row
  at: number
  known: readonly KnownProperty[]
  onChoose(path: readonly string[]): void
}

/** A property by its name; within objects, names have dots between them. A name with a dot is one that the schema has. */
function PropertyInput({ row, at, known, onChoose }: PropertyProps) {
  const id = useId()
  const textOf = (path: readonly string[]) => path.join('.')
  return (
    <>
      <input
        className="mono"
        list={id}
        aria-label={t('Property of condition {at}', { at: at + 1 })}
        placeholder={t('property')}
        autoComplete="off"
        spellCheck={false}
        value={textOf(row.path)}
        onChange={(event) => {
          const text = event.target.value
          const one = known.find(({ path }) => textOf(path) === text)
          onChoose(one?.path ?? (text === '' ? [] : text.split('.')))
        }}
      />
      <datalist id={id}>
        {known.map(({ path }) => (
          <option key={textOf(path)} value={textOf(path)} />
        ))}
      </datalist>
    </>
  )
}

interface ValueProps {
  row: Row
  at: number
  known: KnownProperty | undefined
  onChange(value: unknown): void
}

function ValueInput({ row, at, known, onChange }: ValueProps) {
  const isList = row.operator === 'is one of' || row.operator === 'is none of'
  const isText = ['contains', 'does not contain', 'starts with', 'ends with', 'matches'].includes(
    row.operator,
  )
  const kind = isText ? 'text' : known?.kind === 'list' ? 'other' : known?.kind
  const read = (text: string) => (isList ? valuesFrom(text, kind) : valueFrom(text, kind))
  const [text, setText] = useState<string | null>(null)
  const label = t('Value of condition {at}', { at: at + 1 })
  const options =
    known?.kind === 'boolean' ? [true, false] : known?.options && !isText && !isList ? known.options : null
  if (options)
    return (
      <select
        aria-label={label}
        value={options.findIndex((one) => isDeepSame(one, row.value))}
        onChange={(event) => onChange(options[Number(event.target.value)])}
      >
        <option value={-1}>{t('Select …')}</option>
        {options.map((one, index) => (
          <option key={writeJson(one)} value={index}>
            {typeof one === 'string' ? one : writeJson(one)}
          </option>
        ))}
      </select>
    )
  const shown = text !== null && isDeepSame(read(text), row.value) ? text : valueText(row.value, kind)
  return (
    <input
      aria-label={label}
      placeholder={isList ? t('values, with commas') : t('value')}
      inputMode={kind === 'number' && !isList ? 'decimal' : undefined}
      autoComplete="off"
      value={shown}
      onChange={(event) => {
        setText(event.target.value)
        onChange(read(event.target.value))
      }}
    />
  )
}
