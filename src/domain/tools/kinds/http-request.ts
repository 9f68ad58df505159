/** Builds the HTTP request for a call from the configuration and the arguments. Pure. */
import { type Json, type JsonObject, writeJson } from '../../../core/json.ts'
import { fill, hasBody, parseTemplate, placeholdersIn, type HttpToolConfig } from './http-config.ts'

export interface HttpToolRequest {
  url: string
  method: string
  /** Lower-case names. */
  headers: Record<string, string>
  body: string | null
}

/** Arguments of the URL that cannot be used: `missing` have no value, `refused` have one that is not allowed there. */
export interface UnusableArguments {
  missing: string[]
  refused: string[]
}

/**
 * Placeholders are replaced by their URL-encoded arguments, and optional ones are query parameters when they are given. The
 * remaining arguments become the JSON body (POST, PUT,
 * PATCH; `{}` when none remain), or query parameters after those of the URL (GET, HEAD, DELETE: arrays repeat the key,
 * objects are JSON, null is left out). No argument can add, remove or leave a path segment: a value that makes a
 * segment empty, `.` or `..` is refused, because URL parsers resolve even their encoded forms. Throws TypeError on a
 * URL that `checkHttpConfig` refuses.
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
  const leaving = template.path.split('/').flatMap((segment) => leavingIn(segment, value))
  if (leaving.length > 0) return { missing: [], refused: [...new Set(leaving)] }
  const others = Object.entries(args).filter(([name]) => !names.includes(name))
  const isOptional = ([name]: [string, Json]) => template.optional.includes(name)
  const rest = Object.fromEntries(others.filter((entry) => !isOptional(entry)))
  const query = [
    fill(template.query, value),
    queryOf(Object.fromEntries(others.filter(isOptional))),
    hasBody(config.method) ? '' : queryOf(rest),
  ].filter((part) => part !== '')
  const path = fill(template.path, value)
  return {
    url: new URL(template.base + path + (query.length > 0 ? `?${query.join('&')}` : '')).href,
    method: config.method,
    headers: headersOf(config),
    body: hasBody(config.method) ? writeJson(rest) : null,
  }
}

function valueOf(args: JsonObject, name: string): Json {
  return Object.hasOwn(args, name) ? (args[name] ?? null) : null
}

function textOf(value: Json): string {
  return typeof value === 'object' ? writeJson(value) : String(value)
}

/** Null for text that is not valid Unicode (a lone surrogate), which no URL can carry. */
function encoded(value: Json): string | null {
  try {
    return encodeURIComponent(textOf(value))
  } catch {
    return null
  }
}

function leavingIn(segment: string, value: (name: string) => string): string[] {
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

/** URL-encodes, with U+FFFD for a lone surrogate: in a query that is unambiguous. */
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

/** Whether the request could not be built from the arguments. */
export function isUnusable(built: HttpToolRequest | UnusableArguments): built is UnusableArguments {
  return 'missing' in built
}
