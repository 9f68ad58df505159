/** The configuration of an http tool and its URL template: `https://host/users/{id}?lang={lang}`. Pure. */

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type HttpMethod = (typeof httpMethods)[number]

export interface HttpToolConfig {
  /** `{name}` in the path or query stands for an argument; `{{secret:NAME}}` is filled in before a call runs. */
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
}

/** Splits a template before anything is filled in; null when it is not an http(s) URL. Ignores a fragment. */
export function parseTemplate(url: string): UrlTemplate | null {
  const match = /^(https?:\/\/[^/?#\\]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/is.exec(url)
  return match && { base: match[1]!, path: match[2]!, query: match[3] ?? '' }
}

/** The scheme, host and port of the tool, which no argument or secret changes; empty for an invalid URL. */
export function originOf({ url }: Pick<HttpToolConfig, 'url'>): string {
  return parseTemplate(url)?.base ?? ''
}

const placeholder = /\{([^{}]+)\}/g

/** The names of the placeholders in a text, each once, in order. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map((match) => match[1]!))]
}

/** Replaces every placeholder by what `value` returns. */
export function fill(text: string, value: (name: string) => string): string {
  return text.replace(placeholder, (_all, name: string) => value(name))
}
