/** Queries and mutations over HTTP, and the errors that they can end with. */
import { readForeignJson, writeJson } from '../../../src/core/exact-json.ts'
import { textOf, type TadaDocumentNode } from './document.ts'
import { learnServerTime } from './clock.ts'
import { currentPrincipal, currentProject, endSession, thisSession } from './session.ts'
import { errorText, readErrorTexts } from './error-text.ts'
import { t } from '../texts/texts.tsx'

/** Why an operation has no data. `code` is stable; the message is for people. */
export class RequestError extends Error {
  readonly code: string
  /** The permission that is missing; null for other errors. */
  readonly action: string | null
  /** What to tell the operator about an unexpected error; null for other errors. */
  readonly errorId: string | null
  readonly retryAfterMs: number | null

  constructor(message: string, extensions: Record<string, unknown> = {}) {
    super(message)
    this.code = stringOf(extensions['code']) ?? 'UNREACHABLE'
    this.action = stringOf(extensions['action'])
    this.errorId = stringOf(extensions['errorId'])
    this.retryAfterMs = typeof extensions['retryAfterMs'] === 'number' ? extensions['retryAfterMs'] : null
  }
}

const stringOf = (value: unknown) => (typeof value === 'string' ? value : null)

/** How long after a failed read another one may succeed, in milliseconds. */
const laterMs = 2_000

/** After how many milliseconds what failed with this may succeed; null: nothing but another request does. */
export function againMsOf(error: unknown): number | null {
  if (!(error instanceof RequestError)) return null
  if (error.retryAfterMs !== null) return Math.max(error.retryAfterMs, laterMs)
  return error.code === 'UNREACHABLE' || error.code === 'UNAVAILABLE' ? laterMs : null
}

/** What `read` resolves with; it is tried again while it fails for now, until the signal. Throws what else it fails with. */
export async function patiently<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await read()
    } catch (error) {
      const againMs = againMsOf(error)
      if (againMs === null || signal?.aborted) throw error
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }
}

/** Variables as a caller gives them; `projectId` is filled in when the document has it. */
export type CallerVariables<Variables> = Omit<Variables, 'projectId'>

interface GraphQLResponse {
  data?: unknown
  errors?: { message: string; extensions?: Record<string, unknown> }[]
}

/**
 * Runs a query or mutation in the chosen project. Throws RequestError; an ended session opens the sign-in page. Data with
 * errors in some fields counts as data: a field that is hidden from this person is null. Nothing but null is no data.
 * An answer is waited for `mostMs` milliseconds; then nobody knows whether a change was made.
 */
export async function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: CallerVariables<Variables>,
  signal?: AbortSignal,
  mostMs = longestMs,
): Promise<Result> {
  const query = textOf(document)
  const asking = thisSession()
  const { status, body } = await send(query, variables as object, signal, mostMs)
  const error = body.errors?.[0]
  if (error && !hasData(body.data)) {
    if (error.extensions?.['code'] === 'UNAUTHENTICATED') endSession(t('Your session has ended.'), asking)
    await readErrorTexts()
    throw new RequestError(error.message, error.extensions)
  }
  if (!body.data) throw unanswered(query, t('The server answered with status {status}.', { status }))
  return body.data as Result
}

/** Whether a field of the operation has a value: what failed must not look as if it did not exist. */
const hasData = (data: unknown) =>
  typeof data === 'object' && data !== null && Object.values(data).some((value) => value !== null)

/** The variables with the chosen project, for documents that have `$projectId`. */
export function withProject(query: string, variables: object): Record<string, unknown> {
  return query.includes('$projectId') ? { ...variables, projectId: currentProject() } : { ...variables }
}

/** The longest that an answer is waited for: behind a connection that died without a word that would be for ever. */
const longestMs = 60_000

/** A signal that aborts with this one, or after the time. */
function within(signal: AbortSignal | undefined, mostMs: number): AbortSignal {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), mostMs)
  if (!signal) return late.signal
  // What is read again and again has one signal: it would gather a listener of each read.
  signal.addEventListener('abort', () => clearTimeout(timer), { signal: late.signal })
  return AbortSignal.any([signal, late.signal])
}

/** The answer, whole; what is no JSON has nothing in it. */
async function send(
  query: string,
  variables: object,
  signal: AbortSignal | undefined,
  mostMs: number,
): Promise<{ status: number; body: GraphQLResponse }> {
  try {
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json',
        'gatehouse-principal': currentPrincipal() ?? '',
      },
      body: writeJson({ query, variables: withProject(query, variables) }),
      signal: within(signal, mostMs),
    })
    learnServerTime(response.headers.get('date'))
    const body = tryParse(await response.text())
    return { status: response.status, body }
  } catch (error) {
    if (signal?.aborted) throw error
    throw unanswered(query, t('The server cannot be reached. Nothing was lost; try again.'))
  }
}

/** What is said of a read, and of a change that the server may have made before its answer was lost. */
function unanswered(query: string, ofRead: string): RequestError {
  const isChange = /^\s*mutation\b/m.test(query)
  return new RequestError(
    isChange ? t('No answer came, so this may have been done. Look before you try again.') : ofRead,
  )
}

function tryParse(text: string): GraphQLResponse {
  try {
    return (readForeignJson(text) ?? {}) as GraphQLResponse
  } catch {
    return {}
  }
}

/** The message of anything that was thrown, for people. */
export function messageOf(error: unknown): string {
  if (!(error instanceof RequestError)) return error instanceof Error ? error.message : String(error)
  const message = errorText(error.code, error.message)
  // A rule beside the permissions says by itself what it is.
  if (error.code === 'FORBIDDEN' && error.action && error.message.includes(error.action))
    return t('You need the permission {action} to do this.', { action: error.action })
  if (error.retryAfterMs !== null)
    return t('{message} Try again in {s} s.', {
      message,
      s: Math.ceil(error.retryAfterMs / 1000),
    })
  return error.errorId
    ? t('{message} Give your operator the id {errorId}.', { message, errorId: error.errorId })
    : message
}
