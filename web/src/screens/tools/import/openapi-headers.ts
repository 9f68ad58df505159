/** The headers of an operation that its tool sends: the same with each call. Pure. */
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import type { Api } from './openapi.ts'
import { t } from '../../../texts/texts.tsx'

/** A parameter of an operation, without references. */
export interface Parameter {
  name: string
  place: string
  isRequired: boolean
  schema: Schema
}

/** Headers that OpenAPI describes elsewhere, and those that a tool sets itself. */
const elsewhere = new Set(['accept', 'authorization', 'content-type', 'idempotency-key'])

/** The headers with the one value that each call has; others cannot be sent, because a tool's headers never change. */
export function headersOf(parameters: readonly Parameter[], login: Api['login'], notes: string[]) {
  const headers: Record<string, string> = {}
  for (const { name, place, isRequired, schema } of parameters) {
    if (place !== 'header' && place !== 'cookie') continue
    if (elsewhere.has(name.toLowerCase()) || (login?.in === 'header' && sameName(login.name, name))) continue
    const value = place === 'header' ? fixedValue(schema, isRequired) : null
    if (value === null)
      notes.push(
        t(
          'The {place} {name} is not imported: a tool sends the same headers with each call. Set it under Headers.',
          { place, name },
        ),
      )
    else {
      headers[name] = value
      notes.push(t('The header {name} is always {value}.', { name, value }))
    }
  }
  return headers
}

const sameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

/** The only value that a parameter can have, or what a required one has unless somebody says otherwise; else null. */
function fixedValue(
  { const: only, enum: several, default: usual }: Schema,
  isRequired: boolean,
): string | null {
  const [value] = [
    ...(only === undefined ? [] : [only]),
    ...(Array.isArray(several) && several.length === 1 ? (several as unknown[]) : []),
    ...(isRequired && usual !== undefined ? [usual] : []),
  ]
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isPlain && /^[\x20-\x7e]{1,200}$/.test(String(value)) ? String(value) : null
}
