/**
 * The configuration of an http tool, as it is given and kept, and its URL template:
 * `https://host/users/{id}?lang={lang}{&page,size}`. Pure.
 */
import { z } from 'zod'
import { choice, optional, part, scalar } from '../../../core/shapes.ts'
import { text } from '../../../core/check.ts'
import type { JsonObject } from '../../../core/json.ts'

export const httpMethod = choice('HttpMethod', 'The HTTP method of an http tool.', {
  GET:
    'The request is a GET: arguments that are no placeholders go into the query. A call may be repeated ' +
    'after a crash.',
  HEAD: 'The request is a HEAD: arguments as for GET, and the result is the status alone.',
  POST: 'The request is a POST: arguments that are no placeholders are the JSON body.',
  PUT: 'The request is a PUT: arguments as for POST.',
  PATCH: 'The request is a PATCH: arguments as for POST.',
  DELETE: 'The request is a DELETE: arguments that are no placeholders go into the query.',
})
export type HttpMethod = z.output<typeof httpMethod>

export interface HttpToolConfig {
  /**
   * `{name}` in the path or query stands for an argument; `{{secret:NAME}}` is filled in before a call runs. At its end
   * `{?a,b}`, or `{&a,b}` behind a query, are arguments that the query has when they are given, as in RFC 6570.
   */
  url: string
  method: HttpMethod
  /** Sent unchanged; `{{secret:NAME}}` is filled in before a call runs. */
  headers: Record<string, string>
}

/** Whether the arguments are sent as a JSON body; otherwise they are sent in the query. */
export function hasBody(method: HttpMethod): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

export interface UrlTemplate {
  /** Scheme and authority, without placeholders. */
  base: string
  path: string
  query: string
  /** Arguments that the query has when they are given. */
  optional: string[]
}

const optionalGroup = /\{([?&])([^{}?&]+)\}$/

/** A template without its optional arguments, their names, and whether `?` and `&` are where they belong. */
export function splitOptional(url: string): { plain: string; optional: string[]; isJoined: boolean } {
  const [group, sign, names] = optionalGroup.exec(url) ?? []
  if (group === undefined || names === undefined) return { plain: url, optional: [], isJoined: true }
  const plain = url.slice(0, -group.length)
  return { plain, optional: names.split(','), isJoined: plain.includes('?') === (sign === '&') }
}

/** Splits a template before anything is filled in; null when it is not an http(s) URL. Ignores a fragment. */
export function parseTemplate(url: string): UrlTemplate | null {
  const { plain, optional: optionalNames } = splitOptional(url)
  const match = /^(https?:\/\/[^/?#\\]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/is.exec(plain)
  return match && { base: match[1]!, path: match[2]!, query: match[3] ?? '', optional: optionalNames }
}

/** The scheme, host and port of the tool, which no argument or secret changes; empty for an invalid URL. */
export function originOf({ url }: Pick<HttpToolConfig, 'url'>): string {
  return parseTemplate(url)?.base ?? ''
}

const placeholder = /\{([^{}]+)\}/g

/** The names of the placeholders in a text, each once, in order. */
export function placeholdersIn(template: string): string[] {
  return [...new Set([...template.matchAll(placeholder)].map((match) => match[1]!))]
}

/** Replaces every placeholder by what `value` returns. */
export function fill(template: string, value: (name: string) => string): string {
  return template.replace(placeholder, (_all, name: string) => value(name))
}

/** The configuration of an http tool as it is given, and what is kept of it. */
export const httpInput = <Schema extends z.ZodType<JsonObject>>(inputSchema: Schema) =>
  part('HttpToolConfigInput', 'The config of an http tool.', {
    url: text(4000, 1).describe(
      'The absolute URL; {name} in path or query is replaced by the argument of that name.',
    ),
    method: optional(httpMethod.describe('The HTTP method of the request.'), 'POST'),
    headers: scalar(
      'JSONObject',
      z.custom<JsonObject>().pipe(z.record(z.string().max(200), z.string().max(8000))),
    )
      .nullish()
      .describe(
        'Static headers by name. {{secret:NAME}} in a value is replaced by the secret when a request is sent.',
      ),
    inputSchema,
  })

export function httpOf({ url, method, headers }: z.output<ReturnType<typeof httpInput>>): HttpToolConfig {
  return { url, method: method ?? 'POST', headers: headers ?? {} }
}
