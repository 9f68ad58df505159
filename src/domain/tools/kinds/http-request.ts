/** From a configuration and arguments to the one HTTP request they mean. Pure: nothing is sent here. */
import type { Json, JsonObject } from '../../../core/json.ts'
import { fill, hasBody, parseTemplate, placeholdersIn, type HttpToolConfig } from './http-template.ts'

export interface HttpToolRequest {
  url: string
  method: string
  /** Lower-case names. */
  headers: Record<string, string>
  body: string | null
}

/** Arguments that the URL needs: `missing` have no value, `refused` have one that cannot stand where it belongs. */
export interface UnusableArguments {
  missing: string[]
  refused: string[]
}

/**
 * Placeholders take their arguments, URL-encoded; what is left becomes the JSON body (POST, PUT, PATCH; `{}` when
 * nothing is left) or query parameters after those of the URL (GET, HEAD, DELETE: arrays repeat the key, objects are
 * JSON, null is left out). No argument can add, remove or climb a path segment: a value that would make a segment
 * empty, `.` or `..` is refused, because URL parsers treat even the encoded forms of those as steps.
 * Throws TypeError on a URL that `checkHttpConfig` would not have let in.
 */
export function buildHttpRequest(
  config: HttpToolConfig,
  args: JsonObject,
): HttpToolRequest | UnusableArguments {
  const template = parseTemplate(config.url)
  if (!template) throw new TypeError('not an http(s) URL template')
  const names = placeholdersIn(`${template.path}?${template.query}`)
  const missing = names.filter((name) => valueOf(args, name) === null)
  const refused = names.filter((name) => !missing.includes(name) && encoded(valueOf(args, name)!) === null)
  if (missing.length + refused.length > 0) return { missing, refused }
  const value = (name: string) => encoded(valueOf(args, name)!)!
  const climbing = template.path.split('/').flatMap((segment) => climbersIn(segment, value))
  if (climbing.length > 0) return { missing: [], refused: [...new Set(climbing)] }
  const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)))
  const query = [fill(template.query, value), hasBody(config.method) ? '' : queryOf(rest)].filter(
    (part) => part !== '',
  )
  const path = fill(template.path, value)
  return {
    url: new URL(template.base + path + (query.length > 0 ? `?${query.join('&')}` : '')).href,
    method: config.method,
    headers: headersOf(config),
    body: hasBody(config.method) ? JSON.stringify(rest) : null,
  }
}

function valueOf(args: JsonObject, name: string): Json {
  return Object.hasOwn(args, name) ? (args[name] ?? null) : null
}

function textOf(value: Json): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Null for text that is no Unicode (half a surrogate pair), which no URL can carry. */
function encoded(value: Json): string | null {
  try {
    return encodeURIComponent(textOf(value))
  } catch {
    return null
  }
}

function climbersIn(segment: string, value: (name: string) => string): string[] {
  const names = placeholdersIn(segment)
  const filled = fill(segment, value)
  return names.length > 0 && (filled === '' || /^(?:\.|%2e){1,2}$/i.test(filled)) ? names : []
}

function queryOf(args: JsonObject): string {
  const pairs = Object.entries(args).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((item) => item !== null && item !== undefined)
      .map((item) => `${wellFormed(name)}=${wellFormed(textOf(item))}`),
  )
  return pairs.join('&')
}

/** Encoded, with U+FFFD for half a surrogate pair: in a query nothing can be mistaken for something else. */
function wellFormed(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString())
}

function headersOf(config: HttpToolConfig): Record<string, string> {
  const own = Object.entries(config.headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    accept: 'application/json, text/*;q=0.9, */*;q=0.8',
    'user-agent': 'gatehouse',
    ...(hasBody(config.method) ? { 'content-type': 'application/json' } : {}),
    ...Object.fromEntries(own),
  }
}

/** Whether building said that arguments are unusable. */
export function isUnusable(built: HttpToolRequest | UnusableArguments): built is UnusableArguments {
  return 'missing' in built
}
