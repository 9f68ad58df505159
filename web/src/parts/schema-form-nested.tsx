/** Fields with fields in them: objects, lists and choices between several schemas. */
import { useState } from 'react'
import { isObject } from '../../../src/core/exact-json.ts'
import { Icon } from './icons.tsx'
import { JsonInput } from './schema-form-inputs.tsx'
import { keyOf, useForm, type FieldProps } from './schema-form-context.ts'
import type { Field } from './schema-form-model.ts'
import { initialValue, variantOf, withMember } from './schema-form-values.ts'
import { t } from '../texts/texts.tsx'

export function GroupFields({
  field,
  path,
  value,
  onChange,
}: FieldProps & { field: Field & { kind: 'group' } }) {
  const { renderField } = useForm()
  const object = isObject(value) ? value : {}
  const names = field.properties.map(({ name }) => name)
  const known = new Set(names)
  const others = Object.fromEntries(Object.entries(object).filter(([name]) => !known.has(name)))
  const set = (name: string, next: unknown) => onChange(withMember(object, name, next, names))
  const setOthers = (next: unknown) => {
    const kept = Object.entries(object).filter(([name]) => known.has(name))
    onChange({ ...(isObject(next) ? next : {}), ...Object.fromEntries(kept) })
  }
  return (
    <>
      {field.properties.map(({ name, schema, isRequired }) =>
        renderField({
          schema,
          name,
          path: [...path, name],
          value: Object.hasOwn(object, name) ? object[name] : undefined,
          isRequired,
          onChange: (next) => set(name, next),
        }),
      )}
      {(field.takesOthers || Object.keys(others).length > 0) && (
        <OtherMembers value={others} onChange={setOthers} />
      )}
    </>
  )
}

/** Members that the schema does not name. */
function OtherMembers({
  value,
  onChange,
}: {
  value: Record<string, unknown>
  onChange(value: unknown): void
}) {
  const [isOpen, setOpen] = useState(Object.keys(value).length > 0)
  if (!isOpen)
    return (
      <button type="button" className="quiet form-add" onClick={() => setOpen(true)}>
        <Icon name="plus" /> {t('Further members')}
      </button>
    )
  return (
    <div className="form-field">
      <span className="form-label">{t('Further members')}</span>
      <JsonInput
        id=""
        label={t('Further members')}
        value={value}
        isRequired={false}
        describedBy={undefined}
        isInvalid={false}
        onChange={onChange}
        onBlur={() => {}}
      />
    </div>
  )
}

export function ListFields({
  field,
  name,
  path,
  value,
  onChange,
}: FieldProps & { field: Field & { kind: 'list' } }) {
  const { root, renderField } = useForm()
  const entries: unknown[] = Array.isArray(value) ? value : []
  // Entries are drawn anew after one was removed: what a field keeps for itself belongs to its entry.
  const [removals, setRemovals] = useState(0)
  const isFull = field.maxItems !== null && entries.length >= field.maxItems
  const remove = (at: number) => {
    setRemovals(removals + 1)
    onChange(entries.filter((_, other) => other !== at))
  }
  return (
    <>
      <ol className="list form-list">
        {entries.map((entry, at) => (
          <li key={keyOf([String(removals), String(at)])}>
            <div>
              {renderField({
                schema: field.item,
                name: null,
                path: [...path, String(at)],
                value: entry,
                isRequired: true,
                onChange: (changed) => onChange(entries.with(at, changed ?? null)),
              })}
            </div>
            <button
              type="button"
              className="quiet"
              aria-label={
                name
                  ? t('Remove entry {at} of {name}', { at: at + 1, name })
                  : t('Remove entry {at}', { at: at + 1 })
              }
              onClick={() => remove(at)}
            >
              <Icon name="cross" />
            </button>
          </li>
        ))}
      </ol>
      <button
        type="button"
        className="quiet form-add"
        disabled={isFull}
        onClick={() => onChange([...entries, initialValue(field.item, root) ?? null])}
      >
        <Icon name="plus" /> {t('Add an entry')}
        {name && <span className="sr-only"> {t('to {name}', { name })}</span>}
      </button>
    </>
  )
}

export function VariantFields({
  id,
  field,
  value,
  onChange,
  ...props
}: FieldProps & { id: string; field: Field & { kind: 'variants' } }) {
  const { root, renderField } = useForm()
  const [chosen, setChosen] = useState<number | null>(null)
  const at = chosen ?? variantOf(field.variants, value, root)
  const variant = field.variants[at]!
  const choose = (next: number) => {
    setChosen(next)
    onChange(initialValue(field.variants[next]!.schema, root))
  }
  return (
    <div className="list form-variants">
      <select id={id} value={at} onChange={(event) => choose(Number(event.target.value))}>
        {field.variants.map(({ label }, index) => (
          <option key={label} value={index}>
            {label}
          </option>
        ))}
      </select>
      {renderField({ ...props, key: at, schema: variant.schema, name: null, value, onChange } as FieldProps)}
    </div>
  )
}
