/** Parses the JSON body of a POST and enforces its limits, before the protocol looks at it. Pure. */
import {
  hasManyValues,
  isJsonObject,
  jsonTooBig,
  maxJsonValues,
  NumberRangeError,
  readJson,
} from '../../../core/json.ts'

const limits = { maxBytes: 4 * 1024 * 1024, maxDepth: 100 }
const maxBatch = 50

/** The parsed body; `undefined` for a request without one. */
export type ParsedBody = { value: unknown } | { fault: 'too_many_values' | 'not_json' } | { number: string }

export function parseBody(bytes: Buffer | undefined): ParsedBody {
  if (bytes === undefined) return { value: undefined }
  // Counted before parsing: a value costs more memory than its text.
  if (hasManyValues(bytes)) return { fault: 'too_many_values' }
  try {
    return { value: readJson(bytes.toString('utf8')) }
  } catch (error) {
    return error instanceof NumberRangeError
      ? { number: `${error.path.join('.')}: ${error.message}` }
      : { fault: 'not_json' }
  }
}

export const tooManyValues = `The body has more than ${maxJsonValues} values.`

/** Why a parsed body is refused, as a sentence; null when it is not. */
export function bodyFault(body: unknown): string | null {
  const fault = jsonTooBig(body, limits) ?? batchFault(body)
  return fault ? `The body ${fault}.` : null
}

function batchFault(body: unknown): string | null {
  if (!Array.isArray(body)) return null
  return body.length === 0 || body.length > maxBatch ? `must hold 1 to ${maxBatch} messages` : null
}

/** How many messages the body counts as for rate limits. */
export function messageCount(body: unknown): number {
  return Array.isArray(body) ? body.length : 1
}

/** The JSON-RPC id of a single message; null for a batch or a message without one. */
export function messageIdOf(body: unknown): string | number | null {
  const id = isJsonObject(body) ? body['id'] : null
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
