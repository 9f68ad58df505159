/** Validates the configuration of an http tool when it is saved. Pure. */
import type { Issue } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject, writeJson } from '../../../core/json.ts'
import { isConnectionHeader } from '../../egress/index.ts'
import { fillSecrets, secretNames } from '../../secrets/index.ts'
import { namesArgument } from '../schema/arguments.ts'
import {
  fill,
  hasBody,
  httpMethod,
  parseTemplate,
  placeholdersIn,
  splitOptional,
  type HttpToolConfig,
  type UrlTemplate,
} from './http-config.ts'

/**
 * Every fault, with paths that start at `url`, `method` or `headers`. The egress policy decides whether the URL may be
 * reached (`egress.checkUrl`), and the registry whether the secrets exist.
 */
export function checkHttpConfig(config: HttpToolConfig): Issue[] {
  const method: Issue[] = httpMethod.options.includes(config.method)
    ? []
    : [{ path: ['method'], message: `must be one of ${httpMethod.options.join(', ')}` }]
  const url = urlFaults(config.url).map((message) => ({ path: ['url'], message }))
  return [...url, ...method, ...headerFaults(config)]
}

/**
 * The placeholders of a valid URL for which no call can be expected to have a value, because neither the schema nor a
 * preset names them. Every call would fail, or depend on what a model invents.
 */
export function placeholderFaults(url: string, inputSchema: JsonObject, presets: JsonObject): Issue[] {
  const { patternProperties } = inputSchema
  if (isJsonObject(patternProperties) && Object.keys(patternProperties).length > 0) return []
  const { plain, optional } = splitOptional(withoutSecrets(url))
  return [...placeholdersIn(plain), ...optional]
    .filter((name) => !namesArgument(inputSchema, name) && !Object.hasOwn(presets, name))
    .map((name) => ({
      path: ['url'],
      message: `has the placeholder {${name}}, which is not a property of inputSchema: add the property ${writeJson(name)} there, or remove the placeholder`,
    }))
}

function urlFaults(url: string): string[] {
  if (/[\s\\]/.test(url) || hasControls(url))
    return ['must not contain white space, control characters or a backslash']
  const plain = withoutSecrets(url)
  if (plain.includes('{{'))
    return ['contains "{{": write a placeholder as {name}, and a secret as {{secret:NAME}}']
  const secrets = secretNames(url).length
  const parsed = parseTemplate(url)
  if (parsed && secretNames(`${parsed.path}?${parsed.query}`).length < secrets)
    return ['may contain secrets in its path and query only']
  const { plain: needed, isJoined } = splitOptional(plain)
  if (!isJoined) return ['begins its optional arguments with {? without a query before them, else with {&']
  return templateFaults(needed)
}

/** Replaces each secret by a letter. */
function withoutSecrets(url: string): string {
  const values = new Map(secretNames(url).map((name) => [name, 'x']))
  const filled = fillSecrets(url, values)
  return 'text' in filled ? filled.text : url
}

function templateFaults(url: string): string[] {
  const template = parseTemplate(url)
  if (!template) return ['must be an http or https URL']
  const parts = `${template.path}?${template.query}`
  // Each by itself: a brace of the path and one of the query make no placeholder.
  if ([template.path, template.query].some((part) => /[{}]/.test(fill(part, () => ''))))
    return ['contains a brace that is not part of a placeholder {name}']
  if (/[{}]/.test(fill(url, () => '')) || placeholdersIn(url).length > placeholdersIn(parts).length)
    return ['may contain placeholders in its path and query only']
  return addressFaults(template)
}

function addressFaults({ base, path, query }: UrlTemplate): string[] {
  if (/[{}]/.test(base)) return ['may contain placeholders in its path and query only']
  const sample = `${base}${fill(path, () => 'x')}?${fill(query, () => 'x')}`
  if (!URL.canParse(sample)) return ['is not a valid URL']
  const { username, password } = new URL(sample)
  return username || password || base.includes('@') ? ['must not contain a user name or a password'] : []
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function headerFaults({ headers, method }: HttpToolConfig): Issue[] {
  const seen = new Set<string>()
  return Object.entries(headers).flatMap(([name, value]) => {
    const fault =
      headerFault(name, value, hasBody(method)) ?? (seen.has(name.toLowerCase()) ? 'is given twice' : null)
    seen.add(name.toLowerCase())
    return fault ? [{ path: ['headers', name.slice(0, 80)], message: fault }] : []
  })
}

function headerFault(name: string, value: string, withBody: boolean): string | null {
  const lower = name.toLowerCase()
  if (!headerName.test(name)) return 'is not a valid header name'
  if (isConnectionHeader(name)) return 'is set by the connection: leave it out'
  if (lower === 'idempotency-key') return 'is set by Gatehouse to the id of the tool call: leave it out'
  if (!isHeaderValue(value)) return 'contains a character that no header may contain'
  if (withBody && lower === 'content-type' && !/^[\w.+-]+\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(value))
    return 'must be a JSON media type: the arguments are sent as JSON'
  return null
}

/** Whether a text is a valid header value: no line breaks or other control characters, nothing beyond Latin-1. */
export function isHeaderValue(value: string): boolean {
  return [...value].every((char) => {
    const code = char.codePointAt(0)!
    return code === 9 || (code >= 32 && code < 127) || (code > 159 && code < 256)
  })
}

function hasControls(text: string): boolean {
  return [...text].some((char) => char < ' ' || char === '\u007f')
}
