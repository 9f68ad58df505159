/** JSON for reading: an object as rows of name and value, anything as its text. */
import { useState } from 'react'
import { isJsonNumber, isObject, writeJson } from '../../../src/core/exact-json.ts'
import { Foreign, LongText } from './text.tsx'
import { t } from '../texts/texts.tsx'

type Schema = Record<string, unknown>

const descriptionOf = (schema: Schema | null | undefined, name: string): string | null => {
  const properties = schema?.['properties']
  const one = isObject(properties) ? properties[name] : null
  return isObject(one) && typeof one['description'] === 'string' ? one['description'] : null
}

/** The arguments of a call as rows, with a switch to their JSON. */
export function Arguments({ value, schema }: { value: Record<string, unknown>; schema?: Schema | null }) {
  const [asJson, setAsJson] = useState(false)
  const names = Object.keys(value)
  if (names.length === 0) return <p className="mute">{t('No arguments.')}</p>
  return (
    <div className="arguments">
      {asJson ? (
        <JsonText value={value} />
      ) : (
        <dl className="sheet">
          {names.map((name) => (
            <div key={name}>
              <dt title={descriptionOf(schema, name) ?? undefined}>
                <Foreign text={name} />
              </dt>
              <dd>
                <Value value={value[name]} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <button type="button" className="quiet" aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
        {asJson ? t('As a list') : t('As JSON')}
      </button>
    </div>
  )
}

/** One value: text as text, what is inside of objects and lists as JSON. */
export function Value({ value }: { value: unknown }) {
  if (value === undefined) return <span className="mute">{t('nothing')}</span>
  if (value === '[masked]')
    return (
      <span className="masked" title={t('The value is hidden; the tool gets the real one.')}>
        {t('hidden')}
      </span>
    )
  if (typeof value === 'string')
    return value === '' ? <span className="mute">{t('empty text')}</span> : <LongText text={value} />
  if (typeof value === 'object' && value !== null && !isJsonNumber(value)) return <JsonText value={value} />
  return <span className="mono">{String(value)}</span>
}

/** A value as indented JSON. */
export function JsonText({ value }: { value: unknown }) {
  return <LongText mono text={writeJson(value, 2) ?? 'null'} />
}
