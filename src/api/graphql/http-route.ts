/** GraphQL over HTTP from the server's side: who is asking is known before a byte of the body is read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLError } from 'graphql'
import { invalidAt } from '../../core/errors.ts'
import { hasManyValues, maxJsonValues } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { GraphQLContext } from './context.ts'
import { maskError } from './errors.ts'
import type { Yoga } from './yoga.ts'

export interface Credentials {
  authorization: string | null
  remoteAddress: string | null
  requestId: string
}

/** Makes the context of a request; throws AppError when it must be refused as a whole. */
export type ContextOf = (credentials: Credentials) => Promise<GraphQLContext>

export interface RouteOptions {
  yoga: Yoga
  log: Log
  contextOf: ContextOf
  /** The address of the client, behind proxies that are believed. */
  addressOf(request: IncomingMessage): string | null
  /** What a body may have, in bytes. */
  maxBodyBytes: { known: number; anonymous: number }
}

/** What the head of a request says. */
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

export function graphqlRoute({ yoga, log, contextOf, addressOf, maxBodyBytes }: RouteOptions): Route {
  return {
    async admit(request) {
      const remoteAddress = addressOf(request)
      const sender = `address ${remoteAddress}`
      // Browsers ask without their credentials whether they may ask; Yoga answers that by itself.
      if (request.method === 'OPTIONS')
        return { refused: false, maxBodyBytes: 0, sender, context: null, refusal: null }
      try {
        const context = await contextOf({
          authorization: request.headers.authorization ?? null,
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

/** An id that a proxy gave, when it is one: it stands in logs and answers. */
function safeId(given: string | string[] | undefined): string | null {
  return typeof given === 'string' && /^[\w.:/=+-]{1,100}$/.test(given) ? given : null
}
