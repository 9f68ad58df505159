/** The HTTP route of GraphQL: the caller is authenticated before the body is read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLError } from 'graphql'
import { invalidAt } from '../../core/errors.ts'
import { hasManyValues, maxJsonValues } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { GraphQLContext } from './context.ts'
import { createDocuments, type Documents } from './documents.ts'
import { maskError } from './errors.ts'
import { jsonRoute } from './json-route.ts'
import { operationGuard } from './operation-guard.ts'
import type { OperationParts } from './operations.ts'
import type { Yoga } from './yoga.ts'

export interface Credentials {
  authorization: string | null
  /** The token in the session cookie, for a request from a page of this server; else null. */
  session: string | null
  remoteAddress: string | null
  requestId: string
}

/** Creates the context of a request. Throws AppError when the request must be refused as a whole. */
export type ContextOf = (credentials: Credentials) => Promise<GraphQLContext>

export interface RouteOptions {
  yoga: Yoga
  log: Log
  documents: Documents
  parts: OperationParts
  corsOrigins: string[]
  contextOf: ContextOf
  /** The address of the client, behind trusted proxies. */
  addressOf(request: IncomingMessage): string | null
  /** The token in the session cookie of a request for which it counts; else null. */
  sessionOf(request: IncomingMessage): string | null
  /** The maximum size of a body, in bytes, for authenticated and anonymous callers. */
  maxBodyBytes: { known: number; anonymous: number }
}

/** What HTTP and sockets share: prepared documents and checks. `production`: introspection requires authentication. */
export function createOperations(yoga: Yoga, log: Log, production: boolean) {
  const parts: OperationParts = { guard: operationGuard(log, production), log }
  return { documents: createDocuments(yoga, log), parts }
}

/** The result of reading the head of a request. */
export interface Admitted {
  refused: boolean
  maxBodyBytes: number
  sender: string
  context: GraphQLContext | null
  refusal: GraphQLError | null
}

export interface Route {
  admit(request: IncomingMessage): Promise<Admitted>
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    admitted: Admitted,
    body: Buffer | null,
  ): Promise<void>
}

export function graphqlRoute(options: RouteOptions): Route {
  const { yoga, log, contextOf, addressOf, sessionOf, maxBodyBytes } = options
  const { documents, parts, corsOrigins } = options
  const json = jsonRoute({ documents, parts, cors: corsOrigins.length > 0 })
  return {
    async admit(request) {
      const remoteAddress = addressOf(request)
      const sender = `address ${remoteAddress}`
      // A CORS preflight has no credentials; Yoga responds to it.
      if (request.method === 'OPTIONS')
        return { refused: false, maxBodyBytes: 0, sender, context: null, refusal: null }
      try {
        const context = await contextOf({
          authorization: request.headers.authorization ?? null,
          session: sessionOf(request),
          remoteAddress,
          requestId: safeId(request.headers['x-request-id']) ?? crypto.randomUUID(),
        })
        return context.anonymous
          ? { refused: false, maxBodyBytes: maxBodyBytes.anonymous, sender, context, refusal: null }
          : {
              refused: false,
              maxBodyBytes: maxBodyBytes.known,
              sender: context.ctx.principal.id,
              context,
              refusal: null,
            }
      } catch (error) {
        return { refused: true, maxBodyBytes: 0, sender, context: null, refusal: maskError(error, log) }
      }
    },
    async serve(request, response, { context, refusal: refused }, body) {
      const refusal = refused ?? (body && hasManyValues(body) ? manyValues(log) : null)
      if (body && context && !refusal && (await json(request, response, context, body))) return
      if (body) Object.assign(request, { body })
      await yoga(request, response, {
        ...(context ? { prepared: context } : {}),
        ...(refusal ? { refusal } : {}),
      })
    },
  }
}

function manyValues(log: Log): GraphQLError {
  return maskError(invalidAt(['body'], `has more than ${maxJsonValues} values`), log)
}

/** The request id that a proxy gave, or null when it is not a plain token: it is written to logs and responses. */
function safeId(given: string | string[] | undefined): string | null {
  return typeof given === 'string' && /^[\w.:/=+-]{1,100}$/.test(given) ? given : null
}
