/**
 * What a route is: its path and method, the shapes of its input, the operation behind it, and pages of lists with
 * their Link header.
 */
import type { z } from 'zod'
import type { ApiCall, ApiReply } from '../../http/authenticated-api.ts'
import type { RouteHead } from '../../http/route.ts'
import { decodePlace, encodePlace, type Page } from '../../../core/page.ts'
import type { list } from './shapes.ts'

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
export function defineRoute<
  Body extends z.ZodType = z.ZodType<unknown>,
  Query extends z.ZodType = z.ZodType<unknown>,
>(made: Route<Body, Query>): Route {
  return made as unknown as Route
}

type ListQuery = z.output<typeof list>

interface Listed {
  id: string
  createdAt: Date
}

/** One row more is read than shown, to know whether a page follows. */
export async function listReply<Row extends Listed>(
  path: string,
  query: ListQuery,
  read: (input: { projectId: string | undefined; page: Page }) => Promise<Row[]>,
  shown: (rows: Row[]) => unknown,
): Promise<ApiReply> {
  const limit = Number(query.limit ?? 100)
  const after = query.after === undefined ? undefined : decodePlace(query.after)
  const page = { limit: limit + 1, inverted: false, after }
  const rows = await read({ projectId: query.project_id, page })
  const last = rows.length > limit ? rows[limit - 1]! : null
  const next = new URLSearchParams({
    ...(query.project_id === undefined ? {} : { project_id: query.project_id }),
    limit: String(limit),
    ...(last ? { after: place(last) } : {}),
  })
  return {
    status: 200,
    body: shown(rows.slice(0, limit)),
    headers: last ? { link: `<${path}?${next}>; rel="next"` } : {},
  }
}

function place({ id, createdAt }: Listed): string {
  return encodePlace({ at: createdAt.getTime(), id })
}
