/**
 * Classifies failures of providers: a message that users of the project may read, whether a retry makes sense and
 * when, and which tools were refused.
 */
import { type ToolRefusal, ModelError, type ModelErrorCode } from '../port.ts'
import { APICallError } from '@ai-sdk/provider'
import { AppError } from '../../../core/errors.ts'
import { isJsonObject, tryParseForeignJson, type JsonObject } from '../../../core/json.ts'

/** Longest accepted pause, in milliseconds: one day. */
const longestMs = 24 * 60 * 60 * 1000

/**
 * Milliseconds to wait; null when the response does not say. `retry-after-ms` takes precedence over `retry-after`
 * (seconds or an HTTP date), and that over `retryDelay` in the body. A date is compared with the response's own `date`, because
 * clocks differ; without one, with this process's. Header names are lower case.
 */
function retryAfterOf(
  headers: Record<string, string>,
  body: string,
  now: number = dateOf(headers['date']) ?? Date.now(),
): number | null {
  const candidates = [
    numberOf(headers['retry-after-ms']),
    seconds(numberOf(headers['retry-after'])),
    until(headers['retry-after'], now),
    seconds(numberOf(/"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1])),
  ]
  const found = candidates.find((ms) => ms !== null && ms >= 0)
  return found === undefined || found === null ? null : Math.min(Math.round(found), longestMs)
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null
}

function seconds(value: number | null): number | null {
  return value === null ? null : value * 1000
}

function until(text: string | undefined, now: number): number | null {
  const at = dateOf(text)
  return at === null ? null : Math.max(0, at - now)
}

function dateOf(text: string | undefined): number | null {
  const at = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : at
}

/** A text that is longer has more than the reason in it, such as the whole request. */
const longest = 20_000

/**
 * What the texts of a refusal say of the tools that were sent, whose names are given in that order; null when they name no
 * tool and no limit. A later text is read only when those before it say nothing. A tool is named by its place
 * (`tools[3].parameters`, `tools.3.custom.name`, `"tools",3`, `function_declarations[3]`), or in quotes beside what it is.
 */
export function toolRefusalOf(texts: readonly string[], sent: readonly string[]): ToolRefusal | null {
  if (sent.length === 0) return null
  for (const text of texts.map((one) => one.slice(0, longest))) {
    const names = placesIn(text).flatMap((place) => sent[place] ?? [])
    const refusal: ToolRefusal = {
      names: names.length > 0 ? [...new Set(names)] : nameIn(text, sent),
      mostTools: firstNumber(mostTools, text),
      longestDescription: firstNumber(longestDescription, text),
    }
    if (refusal.names.length > 0 || refusal.mostTools !== null) return refusal
  }
  return null
}

const declaration = /function_?declarations\[(\d+)\]/gi
const place = /\btools(?:\[|\.|\/| -> |["'],\s*)(\d+)\b/gi

/** Gemini has one tool with all declarations, so the place of that tool says nothing. */
function placesIn(text: string): number[] {
  const inDeclarations = [...text.matchAll(declaration)]
  const found = inDeclarations.length > 0 ? inDeclarations : [...text.matchAll(place)]
  return found.map((match) => Number(match[1]))
}

const beside = [
  /\b(?:function|tool)(?: name| named| call)?:? ?(["'`])([\w.-]{1,128})\1/gi,
  /(["'`])([\w.-]{1,128})\1 (?:function|tool)/gi,
  /()\b([\w.-]{1,128}) functionDeclaration\b/g,
]

/** Only the first name counts: what follows may quote the schema, whose words are those of its author. */
function nameIn(text: string, sent: readonly string[]): string[] {
  const found = beside
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .filter((match) => sent.includes(match[2]!))
    .toSorted((a, b) => a.index - b.index)
  return found.slice(0, 1).map((match) => match[2]!)
}

const mostTools = [
  /\btools'?: array too long\. Expected an array with maximum length (\d+)/i,
  /\b(?:more than|at most|up to|maximum of) (\d+) (?:tools|functions|function declarations)\b/i,
]
const longestDescription = [
  /\btools(?:\[\d+\]|\.\d+)(?:\.function|\.custom)?\.description\b.{0,60}(?:maximum length|at most) (\d+)/i,
]

function firstNumber(patterns: RegExp[], text: string): number | null {
  for (const pattern of patterns) {
    const found = Number(pattern.exec(text)?.[1] ?? 0)
    if (found > 0) return found
  }
  return null
}

interface Fault {
  status: number | null
  /** Every name of the kind of error that the provider's response contains. */
  kinds: string
  message: string
  /** What the provider says of the fault, the most telling first. */
  texts: string[]
  retryAfterMs: number | null
  cause: unknown
}

/**
 * Any failure of an attempt as a `ModelError`. `redact` removes what must not be read from the provider's text; `sent` are
 * the names of the tools that were sent, in order. A failure of an unknown kind (a closed connection, bytes that are not
 * JSON) is a retryable MODEL_UNAVAILABLE.
 */
export function toModelError(
  error: unknown,
  redact: (text: string) => string,
  sent: readonly string[] = [],
): ModelError {
  if (error instanceof ModelError) return error
  const refused = refusedByUs(error)
  if (refused) return refused
  const fault = faultOf(error)
  const { code, retryable, text } = verdictOf(fault)
  const detail = code === 'MODEL_BAD_REQUEST' && fault.message ? ` It said: ${redact(fault.message)}` : ''
  const isRefusal = code === 'MODEL_BAD_REQUEST' && (fault.status === 400 || fault.status === 422)
  return new ModelError(code, text + detail, {
    retryable,
    retryAfterMs: retryable ? fault.retryAfterMs : null,
    status: fault.status,
    toolRefusal: isRefusal ? toolRefusalOf(fault.texts, sent) : null,
    cause: error,
  })
}

/** The error for a bare HTTP status, as for a provider's response with it. */
export function errorForStatus(status: number, retryAfterMs: number | null = null): ModelError {
  const { code, retryable, text } = verdictOf({
    status,
    kinds: '',
    message: '',
    texts: [],
    retryAfterMs,
    cause: undefined,
  })
  return new ModelError(code, text, { retryable, retryAfterMs: retryable ? retryAfterMs : null, status })
}

/** The error of an attempt whose own signal was aborted. Never a ModelError, never retried. */
export function abortError(): Error {
  return new DOMException('The model call was aborted.', 'AbortError')
}

/** Errors on our side: the guarded fetch refused the address, or the package cannot express the request. */
function refusedByUs(error: unknown): ModelError | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at instanceof AppError && (at.code === 'FORBIDDEN' || at.code === 'INVALID'))
      return new ModelError(
        'MODEL_BAD_REQUEST',
        'The address of this provider may not be called from here.',
        {
          retryable: false,
          cause: error,
        },
      )
    if (/^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument)Error$/.test(at.name))
      return new ModelError('MODEL_BAD_REQUEST', 'This request cannot be sent to this provider.', {
        retryable: false,
        cause: error,
      })
  }
  return null
}

function faultOf(error: unknown): Fault {
  const fault: Fault = { status: null, kinds: '', message: '', texts: [], retryAfterMs: null, cause: error }
  if (APICallError.isInstance(error)) {
    const body = tryParseForeignJson(error.responseBody ?? '')
    fault.retryAfterMs = retryAfterOf(error.responseHeaders ?? {}, error.responseBody ?? '')
    const words = wordsOf(isJsonObject(body) ? body : {}, error.message)
    // Relays and validators have the reason deeper in the body.
    const texts = [`${words.param} ${words.message}`, error.responseBody ?? '']
    return { ...fault, status: error.statusCode ?? null, ...words, texts }
  }
  // Errors inside a stream are the provider's own objects.
  if (isJsonObject(error) && !(error instanceof Error)) {
    const status = typeof error['statusCode'] === 'number' ? error['statusCode'] : null
    return { ...fault, status, ...wordsOf(error, '') }
  }
  return fault
}

function wordsOf(body: JsonObject, fallback: string): { kinds: string; message: string; param: string } {
  const response = isJsonObject(body['response']) ? body['response'] : {}
  const inner = [body['error'], response['error']].find(isJsonObject) ?? body
  const kinds = [inner['type'], inner['code'], inner['status']]
    .filter((word) => typeof word === 'string')
    .join(' ')
  const message = typeof inner['message'] === 'string' ? inner['message'] : fallback
  const param = typeof inner['param'] === 'string' ? inner['param'] : ''
  return { kinds: kinds.toLowerCase(), message, param }
}

interface Verdict {
  code: ModelErrorCode
  retryable: boolean
  text: string
}

const overflowWords =
  /context[_ ](length|window|size)|maximum context|prompt is too long|exceeds? (the )?(maximum|available|model'?s) (number of tokens|context|input)|input token count|exceed_context|too many (input )?tokens|request_too_large|reduce the length/i

function verdictOf({ status, kinds, message }: Fault): Verdict {
  const matches = (pattern: RegExp) => pattern.test(kinds)
  if (
    status === 401 ||
    status === 403 ||
    (status === null && matches(/authentication|permission|unauthenticated/))
  )
    return { code: 'MODEL_AUTH', retryable: false, text: 'The provider refused the key.' }
  if (matches(/insufficient_quota|billing/) || status === 402)
    return { code: 'MODEL_RATE_LIMITED', retryable: false, text: 'The quota at the provider is used up.' }
  if (status === 429 || matches(/rate_limit|resource_exhausted/))
    return { code: 'MODEL_RATE_LIMITED', retryable: true, text: 'The provider is limiting our requests.' }
  // Google returns 400 for a wrong key.
  if (/api key not valid|api_key_invalid/i.test(message))
    return { code: 'MODEL_AUTH', retryable: false, text: 'The provider refused the key.' }
  const clientFault =
    status !== null ? status >= 400 && status < 500 : matches(/invalid|not_found|bad_request/)
  const overflow = status === 413 || matches(/context_length|request_too_large|exceed_context/)
  if (overflow || (clientFault && overflowWords.test(message)))
    return {
      code: 'CONTEXT_OVERFLOW',
      retryable: false,
      text: 'The conversation is too long for this model.',
    }
  if (status === 404)
    return {
      code: 'MODEL_BAD_REQUEST',
      retryable: false,
      text: 'The provider does not know this model or path.',
    }
  if (clientFault && status !== 408 && status !== 409)
    return { code: 'MODEL_BAD_REQUEST', retryable: false, text: 'The provider did not accept the request.' }
  return { code: 'MODEL_UNAVAILABLE', retryable: true, text: 'The provider cannot be reached or broke off.' }
}
