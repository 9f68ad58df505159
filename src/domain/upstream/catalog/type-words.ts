/** Names of types that other languages and people write, as JSON Schema has them. Pure. */
import type { Json } from '../../../core/json.ts'

const types: Record<string, string> = Object.fromEntries(
  Object.entries({
    string:
      'str text char varchar date datetime date-time time timestamp duration uuid guid url uri email file path binary bytes base64 enum',
    integer: 'int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short bigint byte',
    number: 'float float32 float64 double decimal numeric num real',
    boolean: 'bool',
    object: 'dict dictionary map hash struct record json',
    array: 'list tuple set sequence vector',
    null: 'none nil undefined void',
  }).flatMap(([type, names]) => [type, ...names.split(' ')].map((name) => [name, type])),
)

/** The type that a word means; undefined for `any` and for words of no meaning. */
export function typeOf(word: string): string | undefined {
  const name = word.trim().toLowerCase()
  return Object.hasOwn(types, name) ? types[name] : undefined
}

/** The value of `type`; undefined when it allows every type. A null in a list is the type null. */
export function repairedTypes(value: Json): Json | undefined {
  if (typeof value === 'string') return typeOf(value)
  if (!Array.isArray(value)) return undefined
  const made = value.map((one) => (one === null ? 'null' : typeof one === 'string' ? typeOf(one) : undefined))
  if (made.length === 0 || made.includes(undefined)) return undefined
  return [...new Set(made as string[])]
}
