/** Every argument of a question, with what its schema says about it, and how many have been on the screen. */
import { useState } from 'react'
import { isJsonNumber, isObject, writeJson } from '../../../../src/core/exact-json.ts'
import { Fold } from '../folded.tsx'
import { JsonText, Value } from '../json-view.tsx'
import { fieldOf } from '../schema-form-model.ts'
import { Foreign, JsonPieces, largest, markDeception, sizeText } from '../text.tsx'
import { t } from '../../texts/texts.tsx'

type Schema = Record<string, unknown>

interface Props {
  names: readonly string[]
  values: Record<string, unknown>
  schema: Schema | null
  seen: ReadonlySet<string>
  refOf(name: string): (element: HTMLElement | null) => void
}

export function ArgumentSheet({ names, values, schema, seen, refOf }: Props) {
  return (
    <section aria-label={t('Arguments')}>
      <h2>
        {t('Arguments')}
        {names.length > 0 && (
          <span className="seen-count" role="status">
            {seen.size < names.length
              ? t('{seen} of {count} seen', { seen: seen.size, count: names.length })
              : t('all {count} seen', { count: names.length })}
          </span>
        )}
      </h2>
      {names.length === 0 && <p className="mute">{t('No arguments.')}</p>}
      <dl className="sheet">
        {names.map((name) => (
          <div key={name} ref={refOf(name)}>
            <Name name={name} schema={schema} />
            <dd>
              <Fold name={name}>
                <SheetValue value={values[name]} />
              </Fold>
            </dd>
          </div>
        ))}
      </dl>
      {names.length > 0 && <AsJson values={values} />}
    </section>
  )
}

/** The same as JSON, to copy it. It counts nothing as seen: what is folded here is one text. */
function AsJson({ values }: { values: Record<string, unknown> }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="sheet-json" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">{t('As JSON')}</summary>
      {isOpen && <JsonText value={values} />}
    </details>
  )
}

/** The title of the argument, its name, and its description. */
function Name({ name, schema }: { name: string; schema: Schema | null }) {
  const properties = schema?.['properties']
  const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  const { title, description } = fieldOf(own, schema ?? {})
  return (
    <dt>
      {title !== null && (
        <span className="sheet-title">
          <Foreign text={title} max={200} />
        </span>
      )}
      <span className={title === null ? undefined : 'mono small'}>
        <Foreign text={name} />
      </span>
      {description !== null && (
        <span className="small sheet-about">
          <Foreign text={description} max={500} />
        </span>
      )}
    </dt>
  )
}

/** A value as a whole: it is folded by its height, not cut. */
function SheetValue({ value }: { value: unknown }) {
  if (typeof value === 'string' && value !== '' && value !== '[masked]')
    return (
      <div className="long">
        <bdi>{markDeception(value.slice(0, largest))}</bdi>
        <Rest length={value.length} />
      </div>
    )
  if (typeof value !== 'object' || value === null || isJsonNumber(value)) return <Value value={value} />
  const text = writeJson(value, 2)
  return (
    <div className="long mono" dir="ltr">
      <JsonPieces text={text.slice(0, largest)} />
      <Rest length={text.length} />
    </div>
  )
}

/** What is never on the screen: the argument does not count as seen. */
function Rest({ length }: { length: number }) {
  if (length <= largest) return null
  return (
    <p className="mute" data-folded>
      {t('The first {part} of {whole} are shown.', {
        part: sizeText(largest),
        whole: sizeText(length),
      })}
    </p>
  )
}
