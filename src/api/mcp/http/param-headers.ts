/** Arguments repeated in headers (SEP-2243): the header that a schema names in `x-mcp-header` must match its argument. Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import { asText, isJsonObject, type JsonObject } from '../../../core/json.ts'

const prefix = 'mcp-param-'
const encoded = /^=\?base64\?(.*)\?=$/s
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Why a call must be refused with -32020, or null. Headers carry strings, numbers and booleans only. */
export function headerMismatch(
  headers: IncomingHttpHeaders,
  inputSchema: JsonObject,
  args: unknown,
): string | null {
  const properties = inputSchema['properties']
  if (!isJsonObject(properties)) return null
  for (const [name, schema] of Object.entries(properties)) {
    const marked = isJsonObject(schema) ? schema['x-mcp-header'] : undefined
    if (typeof marked !== 'string') continue
    const sent = headers[prefix + marked.toLowerCase()]?.toString().trim()
    const value = isJsonObject(args) && Object.hasOwn(args, name) ? args[name] : undefined
    const fault = faultOf(sent, value)
    if (fault) return `The header Mcp-Param-${marked.slice(0, 80)} ${fault}.`
  }
  return null
}

function faultOf(sent: string | undefined, value: unknown): string | null {
  const absent = value === undefined || value === null
  if (sent === undefined) return absent ? null : 'is missing'
  if (absent) return 'has no argument'
  const text = decoded(sent)
  if (text === null) return 'has invalid Base64'
  return text === asText(value) ? null : 'does not match its argument'
}

/** The header's text. A value that headers cannot hold is sent as `=?base64?…?=` of its UTF-8; null when that is invalid. */
function decoded(sent: string): string | null {
  const inner = encoded.exec(sent)?.[1]
  if (inner === undefined) return sent
  if (!base64.test(inner) || inner.length % 4 !== 0) return null
  return Buffer.from(inner, 'base64').toString('utf8')
}
