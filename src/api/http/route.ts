/** Routes by method and path: the table that finds one, and groups of them that the server serves. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { asAppError } from '../../domain/access/index.ts'
import { refuseUnread } from './bodies.ts'
import { pageHeaders } from './pages.ts'
import { refusalHeaders, statusOf } from './replies.ts'

/** The path of a request as it was sent, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0]!
}

/** What the server hands the requests of some paths to. */
export interface RouteGroup {
  serves(path: string, request: IncomingMessage): boolean
  serve(request: IncomingMessage, response: ServerResponse, readBody: ReadBody): Promise<void> | void
  /** The body of the response to a body that was not read; left out: that of a GraphQL error. */
  refusal?(status: 413 | 503, message: string): object
}

/**
 * Reads the body, to be called when the sender is known: its bytes count in the budget of this sender. Null when the
 * body was refused and the response has been sent. A body for which it is not called is discarded.
 */
export type ReadBody = (sender: string, maxBytes?: number) => Promise<Buffer | null>

export interface RouteHead {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces. Nothing is decoded. */
  path: string
  /** Whether HEAD is served as this GET; Node sends no body. */
  head?: true
}

/** A route with the parameters of the path; the methods of the path when it is none of them; null without any. */
export type Match<Route> = { route: Route; params: Record<string, string> } | { allow: string } | null

export function createTable<Route extends RouteHead>(
  routes: readonly Route[],
): (method: string | undefined, path: string) => Match<Route> {
  const compiled = routes.map((route) => ({ route, parts: route.path.split('/').map(partOf) }))
  return (method, path) => {
    const sent = path.split('/')
    const found = compiled.flatMap(({ route, parts }) => {
      const params = paramsOf(parts, sent)
      return params ? [{ route, params }] : []
    })
    if (found.length === 0) return null
    const match = found.find(({ route }) => methodsOf(route).includes(method ?? ''))
    return match ?? { allow: found.flatMap(({ route }) => methodsOf(route)).join(', ') }
  }
}

const methodsOf = ({ method, head }: RouteHead): string[] => (head ? [method, 'HEAD'] : [method])

/** One part of a path: a text, or the name of a parameter. */
type Part = { text: string } | { name: string }

function partOf(text: string): Part {
  const name = /^\{(\w+)\}$/.exec(text)?.[1]
  return name === undefined ? { text } : { name }
}

function paramsOf(parts: readonly Part[], sent: readonly string[]): Record<string, string> | null {
  if (parts.length !== sent.length) return null
  const params: Record<string, string> = {}
  for (const [i, part] of parts.entries()) {
    const value = sent[i]!
    if ('text' in part ? part.text !== value : value === '') return null
    if ('name' in part) params[part.name] = value
  }
  return params
}

/** The refusal of a method that no route of the path has. */
export const notAllowed = new AppError('INVALID', 'Method not allowed.')

export interface OpenCall {
  request: IncomingMessage
  response: ServerResponse
  readBody: ReadBody
  params: Record<string, string>
  url: URL
}

/** A route that finds out by itself who calls. */
export interface OpenRoute extends RouteHead {
  /** Whether HEAD, which link scanners send, gets the headers of a page and runs nothing. */
  isPage?: true
  run(call: OpenCall): Promise<void> | void
}

export interface OpenRoutes {
  routes: readonly OpenRoute[]
  /** Headers of every response. */
  headers?: Record<string, string>
  /** The body of a refusal; left out: there is none. */
  errorBody?(error: AppError): object
  /** Answers an error that a route has thrown; left out: with the status and its body. */
  refuse?(call: OpenCall, error: AppError, status: number): void
}

/** The error for a body that was not read. */
export const unreadBody = (status: 413 | 503, message: string) =>
  new AppError(status === 413 ? 'LIMITED' : 'UNAVAILABLE', message)

/** The longest URL that is parsed, in characters. */
const longestUrl = 8192

/** The routes as a group. Errors that are no AppError are logged and masked. */
export function openRoutes(log: Log, { routes, headers = {}, errorBody, refuse }: OpenRoutes): RouteGroup {
  const find = createTable(routes)
  const refuseWith = ({ request, response }: OpenCall, status: number, error: AppError, more: object = {}) =>
    refuseUnread(request, response, status, errorBody?.(error), { ...refusalHeaders(error), ...more })
  return {
    serves: (path) => find('', path) !== null,
    ...(errorBody ? { refusal: (status, message) => errorBody(unreadBody(status, message)) } : {}),
    async serve(request, response, readBody) {
      const url = new URL((request.url ?? '/').slice(0, longestUrl), 'http://gatehouse.invalid')
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      const match = find(request.method, pathOf(request))!
      const call = { request, response, readBody, params: {}, url }
      if (!('route' in match)) return refuseWith(call, 405, notAllowed, { allow: match.allow })
      const { route, params } = match
      if (request.method === 'HEAD' && route.isPage) return void response.writeHead(200, pageHeaders).end()
      try {
        await route.run({ ...call, params })
      } catch (error) {
        // A client that disconnected, maybe while it sent the body.
        if (response.destroyed) return
        const known = asAppError(error)
        if (!known) log.error({ err: error }, `${request.method} ${route.path} could not be served`)
        if (response.headersSent) return void response.destroy()
        const shown = known ?? new AppError('INTERNAL', 'Unexpected error.')
        const status = shown.code === 'INVALID' ? 422 : statusOf(shown)
        if (refuse) refuse(call, shown, status)
        else refuseWith(call, status, shown)
      }
    },
  }
}
