/** Queries and mutations over HTTP. What is safe to repeat is repeated until an answer comes. */
import { readForeignJson, writeJson } from '../src/core/exact-json.ts'
import { abortReason, errorFrom, errorOf, GatehouseError, LimitedError, type ServerError } from './errors.ts'
import { limited, pause, waitAfter } from './pause.ts'
import type { Server } from './server.ts'

export interface RequestOptions {
  /** Ends the waiting; a request that was sent may take effect all the same. */
  signal?: AbortSignal | undefined
  /** How long one try may take, in milliseconds. */
  timeoutMs?: number | undefined
}

interface GraphQLResponse {
  data?: Record<string, unknown> | null
  errors?: ServerError[]
}

/** Codes of refusals that were given before anything ran, so that another try is safe for every request. */
const refusedBeforeRunning = (error: GatehouseError) =>
  error instanceof LimitedError && error.retryAfterMs !== null

/** Codes after which nobody knows whether the request took effect. */
const unanswered = new Set(['UNREACHABLE', 'UNAVAILABLE'])

/**
 * Sends an operation and returns its data. `isSafe`: a repeat has no second effect. Throws GatehouseError, or the reason of
 * the signal. A result with errors in some of its fields is returned when a root field has a value.
 */
export async function request(
  server: Server,
  query: string,
  variables: object,
  isSafe: boolean,
  { signal, timeoutMs = server.timeoutMs }: RequestOptions = {},
): Promise<Record<string, unknown>> {
  const body = writeJson({ query, variables })
  const until = Date.now() + server.retryForMs
  let refusedKey: string | null = null
  for (let failures = 1; ; failures++) {
    const authorization = await server.authorization()
    try {
      return await attempt(server, body, authorization, timeoutMs, signal)
    } catch (error) {
      if (!(error instanceof GatehouseError)) throw error
      const mayRepeat = refusedBeforeRunning(error) || (isSafe && unanswered.has(error.code))
      const mayRenew = error.code === 'UNAUTHENTICATED' && server.renewsKey && refusedKey === null
      if (mayRenew) refusedKey = authorization
      const waitMs = Math.max(
        waitAfter(failures),
        error instanceof LimitedError ? (error.retryAfterMs ?? 0) : 0,
      )
      if (mayRenew && (await server.authorization()) !== refusedKey) continue
      if (!mayRepeat || Date.now() + waitMs > until) throw error
      server.onRetry(error, waitMs)
      await pause(waitMs, signal)
    }
  }
}

async function attempt(
  server: Server,
  body: string,
  authorization: string | null,
  timeoutMs: number,
  outer: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  if (outer?.aborted) throw abortReason(outer)
  const limit = limited(timeoutMs, outer)
  try {
    const response = await server.fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json, application/json',
        ...(authorization ? { authorization } : {}),
      },
      body,
      credentials: server.credentials,
      signal: limit.signal,
    })
    server.learnTime(response.headers.get('date'))
    return dataOf(response, await response.text())
  } catch (error) {
    if (error instanceof GatehouseError) throw error
    if (outer?.aborted) throw abortReason(outer)
    const isLate = limit.isLate()
    const why = isLate ? `gave no answer within ${timeoutMs} ms` : 'cannot be reached'
    throw errorOf('UNREACHABLE', `${new URL(server.url).origin} ${why}.`, { isLate })
  } finally {
    limit.done()
  }
}

function dataOf(response: Response, text: string): Record<string, unknown> {
  const result = response.status === 413 ? null : parsed(text)
  if (!result) throw withoutResult(response.status)
  const { data, errors } = result
  const hasValue = data && Object.values(data).some((value) => value !== null && value !== undefined)
  if (errors?.[0] && !hasValue) throw errorFrom(errors[0])
  if (!data) throw withoutResult(response.status)
  return data
}

/** A response that is none of GraphQL: of a proxy in between, or of the server before it reads the body. */
function withoutResult(status: number): GatehouseError {
  const message = `The server answered with status ${status}.`
  if (status === 401) return errorOf('UNAUTHENTICATED', message)
  if (status === 413) return errorOf('INVALID', 'The request is larger than the server accepts.')
  if (status >= 400 && status < 500) return errorOf('REFUSED', message)
  return errorOf('UNREACHABLE', message)
}

function parsed(text: string): GraphQLResponse | null {
  try {
    const value = readForeignJson(text) as GraphQLResponse | null
    return value !== null && typeof value === 'object' && ('data' in value || Array.isArray(value.errors))
      ? value
      : null
  } catch {
    return null
  }
}

/** Throws the error of a mutation that was refused: a member of its result union with code and message. */
export function throwRefusals(data: Record<string, unknown>): void {
  for (const value of Object.values(data)) {
    if (value === null || typeof value !== 'object') continue
    const { code, message, ...details } = value as Record<string, unknown>
    if (typeof code === 'string' && typeof message === 'string') throw errorOf(code, message, details)
  }
}
