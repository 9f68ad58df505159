/** The HTTP route of GraphQL: the caller is authenticated before the body is read. */
import type { IncomingMessage } from 'node:http'
import type { GraphQLError } from 'graphql'
import { numberIssue } from '../../../core/check.ts'
import { invalid, invalidAt, type AppError } from '../../../core/errors.ts'
import { hasManyValues, isNestedTooDeep, maxJsonDepth, maxJsonValues, packText } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { traceContextOf, type TraceContext } from '../../../core/telemetry/unit.ts'
import { personNamedIn } from '../../../domain/access/index.ts'
import type { RouteGroup } from '../../http/route.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { createDocuments, type Documents } from './documents.ts'
import { maskError } from '../builder/errors.ts'
import { jsonRoute } from './fast-route.ts'
import { operationGuard } from './operation-guard.ts'
import type { OperationParts } from './operations.ts'
import type { Yoga } from './yoga.ts'

export interface Credentials {
  authorization: string | null
  /** The token in the session cookie, for a request from a page of this server; else null. */
  session: string | null
  /** The id of the principal that the page of the session shows; null when it does not say. */
  shown: string | null
  /** What the request says of the person for whom it is made; undefined: nothing. */
  actsFor: unknown
  remoteAddress: string | null
  trace?: TraceContext | undefined
  requestId: string
}

/** Creates the context of a request. Throws AppError when the request must be refused as a whole. */
export type ContextOf = (credentials: Credentials) => Promise<GraphQLContext>

export interface RouteOptions {
  yoga: Yoga
  log: Log
  documents: Documents
  parts: OperationParts
  contextOf: ContextOf
  /** The address of the client, behind trusted proxies. */
  addressOf(request: IncomingMessage): string | null
  /** The token in the session cookie of a request for which it counts; else null. */
  sessionOf(request: IncomingMessage): string | null
  /** The maximum size of a body, in bytes, for authenticated and anonymous callers. */
  maxBodyBytes: { known: number; anonymous: number }
}

/** What HTTP and sockets share: prepared documents and checks. `production`: introspection requires authentication. */
export function createOperations(log: Log, production: boolean) {
  const parts: OperationParts = { guard: operationGuard(log, production), log }
  return { documents: createDocuments(log), parts }
}

/** The result of reading the head of a request. */
interface Admitted {
  maxBodyBytes: number
  sender: string
  context: GraphQLContext | null
  /** Why the request is refused; then its body is not read. */
  refusal: GraphQLError | null
}

export function graphqlRoute(options: RouteOptions): RouteGroup {
  const { yoga, log, documents, parts } = options
  const json = jsonRoute({ documents, parts })
  return {
    serves: (path) => path === '/graphql',
    async serve(request, response, readBody) {
      const { context, refusal: refused, sender, maxBodyBytes } = await admit(options, request)
      const reads = !refused && request.method === 'POST'
      const body = reads ? await readBody(sender, maxBodyBytes) : undefined
      if (body === null) return
      const fault = body ? bodyFault(body) : refused ? null : packQuery(request)
      const refusal = refused ?? (fault ? maskError(fault, log) : null)
      if (body && context && !refusal && (await json(request, response, context, body))) return
      if (body) Object.assign(request, { body: refusal ? body : packed(body) })
      await yoga(request, response, {
        ...(context ? { prepared: context } : {}),
        ...(refusal ? { refusal } : {}),
      })
    },
  }
}

/** Authenticates the caller before any byte of the body is read. */
async function admit(
  { log, contextOf, addressOf, sessionOf, maxBodyBytes }: RouteOptions,
  request: IncomingMessage,
): Promise<Admitted> {
  const remoteAddress = addressOf(request)
  const nobody = { maxBodyBytes: 0, sender: `address ${remoteAddress}`, context: null, refusal: null }
  // A CORS preflight has no credentials; Yoga responds to it.
  if (request.method === 'OPTIONS') return nobody
  try {
    const context = await contextOf({
      authorization: request.headers.authorization ?? null,
      session: sessionOf(request),
      shown: shownPrincipal(request.headers['gatehouse-principal']),
      actsFor: personNamedIn(request.headers),
      remoteAddress,
      requestId: safeId(request.headers['x-request-id']) ?? crypto.randomUUID(),
      trace: traceContextOf(request.headers),
    })
    return context.anonymous
      ? { ...nobody, maxBodyBytes: maxBodyBytes.anonymous, context }
      : { maxBodyBytes: maxBodyBytes.known, sender: context.ctx.principal.id, context, refusal: null }
  } catch (error) {
    return { ...nobody, refusal: maskError(error, log) }
  }
}

/** What a page says about whom it shows, as a header or a parameter of the connection. */
export const shownPrincipal = (said: unknown): string | null =>
  typeof said === 'string' && said !== '' ? said : null

/** Why a body is not served; null when it may be. One that is no JSON is Yoga's to refuse. */
function bodyFault(body: Buffer): AppError | null {
  if (hasManyValues(body)) return invalidAt(['body'], `has more than ${maxJsonValues} values`)
  if (isNestedTooDeep(body)) return invalidAt(['body'], `is nested deeper than ${maxJsonDepth} levels`)
  return faultOfNumbers(body.toString())
}

/** The body for Yoga's parser; the same bytes unless a number would be lost. */
function packed(body: Buffer): Buffer {
  const text = body.toString()
  const exact = packText(text)
  return exact === text ? body : Buffer.from(exact)
}

function faultOfNumbers(text: string, root?: string[]): AppError | null {
  const issue = numberIssue(text, root)
  return issue && invalid([issue])
}

/** The variables of a GET with the numbers packed, for Yoga to parse; it refuses what is no JSON. */
function packQuery(request: IncomingMessage): AppError | null {
  const [path, query] = (request.url ?? '').split(/\?(.*)/s)
  if (request.method !== 'GET' || !query) return null
  const parameters = new URLSearchParams(query)
  const given = parameters.get('variables')
  const text = given && packText(given)
  if (!text || text === given) return null
  parameters.set('variables', text)
  request.url = `${path}?${parameters.toString()}`
  return faultOfNumbers(given, ['variables'])
}

/** The request id that a proxy gave, or null when it is not a plain token: it is written to logs and responses. */
function safeId(given: string | string[] | undefined): string | null {
  return typeof given === 'string' && /^[\w.:/=+-]{1,100}$/.test(given) ? given : null
}
