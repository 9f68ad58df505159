/** One field with its name, what it is for, and what is wrong with it. */
import { useId, type ReactNode } from 'react'
import { writeJson } from '../../../src/core/exact-json.ts'
import { useForm, type FieldProps } from './schema-form-context.ts'
import { booleans, ChoiceInput, JsonInput, NumberInput, TextInput } from './schema-form-inputs.tsx'
import { fieldOf, type Field } from './schema-form-model.ts'
import { GroupFields, ListFields, VariantFields } from './schema-form-nested.tsx'
import { initialValue } from './schema-form-values.ts'
import { Foreign } from './text.tsx'
import { Icon } from './icons.tsx'
import { Fault } from './fault.tsx'
import { t, T } from '../texts/texts.tsx'

/** Kinds that hold other fields: their name is a heading, and an optional one is added and removed. */
const isNest = ({ kind }: Field): boolean => kind === 'group' || kind === 'list' || kind === 'variants'

export function SchemaField(props: FieldProps) {
  const { schema, path, value, isRequired, onChange } = props
  const form = useForm()
  const field = fieldOf(schema, form.root)
  const id = useId()
  const messages = form.messagesAt(path)
  const described = [field.description && `${id}-about`, messages.length > 0 && `${id}-fault`].filter(Boolean)
  const isTop = path.length === 0
  const isOpen = value !== undefined && value !== null
  const content: ReactNode =
    field.isNullable && value === null ? (
      <span className="mono mute">null</span>
    ) : isNest(field) && !isOpen && !isRequired ? null : (
      <Control
        {...props}
        field={field}
        id={id}
        describedBy={described.length > 0 ? described.join(' ') : undefined}
        isInvalid={messages.length > 0}
      />
    )
  return (
    <div
      className={isNest(field) && !isTop ? 'form-field form-nest' : 'form-field'}
      role={isNest(field) && !isTop ? 'group' : undefined}
      aria-labelledby={isNest(field) && !isTop && props.name !== null ? `${id}-name` : undefined}
    >
      {!isTop && <Heading {...props} field={field} id={id} />}
      {field.description && (
        <p className="form-about" id={`${id}-about`}>
          <Foreign text={field.description} max={600} />
        </p>
      )}
      {content}
      {isNest(field) && !isTop && !isOpen && !isRequired && (
        <button
          type="button"
          className="quiet form-add"
          onClick={() => onChange(initialValue(schema, form.root) ?? [])}
        >
          <Icon name="plus" />{' '}
          <T text="Add {name}" name={<Foreign text={props.name ?? t('it')} max={60} />} />
        </button>
      )}
      <Fault id={`${id}-fault`} text={messages.map(({ message }) => message).join('; ')} />
    </div>
  )
}

function Heading({
  name,
  path,
  value,
  isRequired,
  onChange,
  schema,
  field,
  id,
}: FieldProps & { field: Field; id: string }) {
  const form = useForm()
  const isLabel = !isNest(field) && field.kind !== 'json' && field.kind !== 'const'
  const text = (
    <>
      {name === null ? (
        <span className="sr-only">{t('entry {at}', { at: Number(path.at(-1)) + 1 || '' })}</span>
      ) : (
        <>
          <Foreign className="mono" text={name} max={100} />
          {field.title && field.title !== name && (
            <span className="mute">
              {' '}
              <Foreign text={field.title} max={100} />
            </span>
          )}
        </>
      )}
      {isRequired && name !== null && <span className="mute small"> {t('required')}</span>}
    </>
  )
  const canBeEmpty = field.kind === 'text' && isRequired && value === undefined && name !== null
  return (
    <div className="form-heading">
      {isLabel ? (
        <label className="form-label" htmlFor={id}>
          {text}
        </label>
      ) : (
        <span className="form-label" id={`${id}-name`}>
          {text}
        </span>
      )}
      {canBeEmpty && (
        <button type="button" className="quiet form-action" onClick={() => onChange('')}>
          {t('Empty text')}
          <span className="sr-only"> {t('for {name}', { name })}</span>
        </button>
      )}
      {field.kind === 'text' && value === '' && <span className="mute small">{t('empty text')}</span>}
      {field.isNullable && (
        <button
          type="button"
          className="quiet form-action"
          aria-pressed={value === null}
          onClick={() => onChange(value === null ? initialOf(schema, form.root) : null)}
        >
          null
          <span className="sr-only"> {t('for {name}', { name: name ?? '' })}</span>
        </button>
      )}
      {isNest(field) && !isRequired && value !== undefined && (
        <button type="button" className="quiet form-action" onClick={() => onChange(undefined)}>
          {t('Leave out')}
          <span className="sr-only"> {name}</span>
        </button>
      )}
    </div>
  )
}

/** What stands in a nullable place that shall not be null any more. */
const initialOf = (schema: unknown, root: Record<string, unknown>): unknown => {
  const value = initialValue(schema, root)
  return value === null ? undefined : value
}

interface ControlProps extends FieldProps {
  field: Field
  id: string
  describedBy: string | undefined
  isInvalid: boolean
}

function Control({ field, ...props }: ControlProps): ReactNode {
  const form = useForm()
  const { name, path } = props
  const input = {
    id: props.id,
    value: props.value,
    isRequired: props.isRequired,
    describedBy: props.describedBy,
    isInvalid: props.isInvalid,
    onChange: props.onChange,
    onBlur: () => form.touch(path),
  }
  switch (field.kind) {
    case 'text':
      return <TextInput {...input} field={field} />
    case 'number':
      return <NumberInput {...input} field={field} />
    case 'boolean':
      return <ChoiceInput {...input} options={booleans} />
    case 'choice':
      return <ChoiceInput {...input} options={field.options} />
    case 'const':
      return <code className="mono">{writeJson(field.value)}</code>
    case 'list':
      return <ListFields {...props} field={field} />
    case 'group':
      return <GroupFields {...props} field={field} />
    case 'variants':
      return <VariantFields {...props} field={field} />
    case 'json':
      return <JsonInput {...input} label={name ?? form.label} />
  }
}
