/** The prompt of a message: a text with paths into its JSON body in braces, as `New order {order.id}`. Pure. */
import { isJsonObject, type Json, writeJson } from '../../core/json.ts'

/** `{.}` is the whole body. Other braces are text. */
const placeholder = /\{(\.|[\w$-]+(?:\.[\w$-]+)*)\}/g

/** The text with texts as they are and other values as JSON, or the first path that leads nowhere. */
export function fillTemplate(template: string, body: Json): { text: string } | { missing: string } {
  const paths = [...template.matchAll(placeholder)].map((match) => match[1]!)
  const missing = paths.find((path) => valueAt(body, path) === undefined)
  if (missing !== undefined) return { missing }
  return {
    text: template.replace(placeholder, (_all, path: string) => {
      const value = valueAt(body, path)
      return typeof value === 'string' ? value : writeJson(value)
    }),
  }
}

function valueAt(body: Json, path: string): Json | undefined {
  if (path === '.') return body
  let value: Json | undefined = body
  for (const name of path.split('.')) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined
    else
      value =
        value !== undefined && isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

/** Each may be as long as the body. */
const mostPlaceholders = 50

/** What is wrong with a template, as a message that follows a path; null: nothing. */
export function faultOfTemplate(template: string): string | null {
  const count = template.match(placeholder)?.length ?? 0
  return count > mostPlaceholders ? `must have at most ${mostPlaceholders} placeholders` : null
}
