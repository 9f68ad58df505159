/** The configuration of an http tool and its URL template: `https://host/users/{id}?lang={lang}`. Pure. */

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type HttpMethod = (typeof httpMethods)[number]

export interface HttpToolConfig {
  /** `{name}` in path or query stands for an argument; `{{secret:NAME}}` has been filled in before a call runs. */
  url: string
  method: HttpMethod
  /** Sent as they are; `{{secret:NAME}}` has been filled in before a call runs. */
  headers: Record<string, string>
}

/** Whether the arguments travel as a JSON body; otherwise they are the query string. */
export function hasBody(method: HttpMethod): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

export interface UrlTemplate {
  /** Scheme and authority, taken literally. */
  base: string
  path: string
  query: string
}

/** The parts of a template, cut before anything is filled in; null when it is no http(s) URL. A fragment is ignored. */
export function parseTemplate(url: string): UrlTemplate | null {
  const match = /^(https?:\/\/[^/?#\\]+)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/is.exec(url)
  return match && { base: match[1]!, path: match[2]!, query: match[3] ?? '' }
}

/** Where the tool is called, which no argument and no secret changes; empty for a URL that is none. */
export function originOf({ url }: Pick<HttpToolConfig, 'url'>): string {
  return parseTemplate(url)?.base ?? ''
}

const placeholder = /\{([^{}]+)\}/g

/** The names of the placeholders in a text, each once, in order. */
export function placeholdersIn(text: string): string[] {
  return [...new Set([...text.matchAll(placeholder)].map((match) => match[1]!))]
}

/** The text with every placeholder replaced by what `value` says. */
export function fill(text: string, value: (name: string) => string): string {
  return text.replace(placeholder, (_all, name: string) => value(name))
}
