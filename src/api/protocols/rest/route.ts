/** What a route is: its path and method, the shapes of its input, and the operation behind it. */
import type { z } from 'zod'
import type { ApiCall, ApiReply } from '../../http/authenticated-api.ts'
import type { RouteHead } from '../../http/route.ts'

export interface RouteCall<Body, Query> extends ApiCall {
  body: Body
  query: Query
}

export type HeaderName = 'Prefer' | 'Idempotency-Key' | 'Gatehouse-Join' | 'Last-Event-ID'

export interface RouteAnswer {
  description: string
  /** The shape of the body; left out: there is no body, or it is no shape of this API. */
  schema?: z.ZodType
  /** The shape of an event, where the response may be a stream of server-sent events. */
  events?: z.ZodType
}

export interface Route<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> extends RouteHead {
  /** The name of the operation in generated clients. */
  operationId: string
  tag: 'Tools' | 'Agents' | 'Actions' | 'OpenAPI'
  summary: string
  /** The shape of the JSON body; an empty body counts as {}. Left out: no body is read. */
  body?: Body
  /** The shape of the query parameters. Left out: there are none. */
  query?: Query
  /** What it responds with, by status, beside errors. */
  answers: Record<number, RouteAnswer>
  /** Headers that it reads. */
  headers?: readonly HeaderName[]
  /** A reply, or null when the response was written. */
  run(call: RouteCall<z.output<Body>, z.output<Query>>): Promise<ApiReply | null>
}

/** Declares a route, with the types of body and query from their shapes. */
export function route<
  Body extends z.ZodType = z.ZodType<unknown>,
  Query extends z.ZodType = z.ZodType<unknown>,
>(made: Route<Body, Query>): Route {
  return made as unknown as Route
}
