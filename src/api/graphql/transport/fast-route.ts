/**
 * Serves the most common request, a query or mutation in JSON answered in JSON, straight from node:http: the same documents,
 * guards and limits as Yoga's path, without a web Request and Response. Everything unusual is left to Yoga.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { getOperationAST, type ExecutionResult, type GraphQLError } from 'graphql'
import { isJsonObject, readJson } from '../../../core/json.ts'
import { sendPackedJson } from '../../http/replies.ts'
import type { GraphQLContext } from '../builder/context.ts'
import type { Documents } from './documents.ts'
import { withoutHttp } from '../builder/errors.ts'
import { quotaHeadersOf } from './operation-guard.ts'
import { runOperation, type OperationParts } from './operations.ts'

export interface JsonRouteOptions {
  documents: Documents
  parts: OperationParts
}

/** Serves a request and returns true; or returns false, with nothing done, for one that Yoga must serve. */
export type JsonRoute = (
  request: IncomingMessage,
  response: ServerResponse,
  context: GraphQLContext,
  body: Buffer,
) => Promise<boolean>

/** Creates the route. A request that it serves has the same status, headers and body as from Yoga. */
export function jsonRoute({ documents, parts }: JsonRouteOptions): JsonRoute {
  return async (request, response, context, body) => {
    const mediaType = mediaTypeOf(request)
    if (mediaType === null) return false
    const params = paramsOf(body)
    if (!params) return false
    const prepared = documents.prepare(params.query)
    if ('errors' in prepared) {
      await send({ request, response }, mediaType, context, { errors: prepared.errors })
      return true
    }
    const { document } = prepared
    const operation = getOperationAST(document, params.operationName)
    if (!operation || operation.operation === 'subscription') return false
    const { operationName, variables: variableValues } = params
    const { schema } = documents
    const given = { schema, document, operationName, variableValues, contextValue: context }
    await send({ request, response }, mediaType, context, await runOperation(parts, given))
    return true
  }
}

interface Params {
  query: string
  operationName?: string | null
  variables?: Record<string, unknown> | null
}

const json = 'application/json'
const graphqlJson = 'application/graphql-response+json'
/** The Accept headers that name one way to respond. Yoga judges the others. */
const accepted = new Map([
  [undefined, json],
  ['*/*', json],
  [json, json],
  [graphqlJson, graphqlJson],
  [`${graphqlJson}, ${json}`, graphqlJson],
  [`${graphqlJson},${json};q=0.9`, graphqlJson],
])
const contentTypes = new Set([json, `${json}; charset=utf-8`, `${json};charset=utf-8`])

/** The media type of the response; null when Yoga must serve the request. */
function mediaTypeOf({ method, url, headers }: IncomingMessage): string | null {
  if (method !== 'POST' || url !== '/graphql') return null
  if (!contentTypes.has(headers['content-type']?.toLowerCase() ?? '')) return null
  return accepted.get(headers.accept) ?? null
}

/** The parameters of a body; null when anything about them is unusual, so that Yoga responds. */
function paramsOf(body: Buffer): Params | null {
  let parsed: unknown
  try {
    parsed = readJson(body.toString('utf8'))
  } catch {
    return null
  }
  if (!isJsonObject(parsed)) return null
  const { query, operationName, variables, ...rest } = parsed
  if (typeof query !== 'string') return null
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') return null
  if (variables !== undefined && variables !== null && !isJsonObject(variables)) return null
  for (const name in rest) if (name !== 'extensions' || !isJsonObject(rest[name])) return null
  return { query, operationName, variables } as Params
}

function send(
  call: { request: IncomingMessage; response: ServerResponse },
  mediaType: string,
  context: GraphQLContext,
  result: ExecutionResult,
): Promise<void> {
  const body = result.errors ? { ...result, errors: result.errors.map(withoutHttp) } : result
  const { status, headers } = result.errors
    ? statusOf(result.errors, mediaType === json)
    : { status: 200, headers: {} }
  return sendPackedJson(call, status, body, {
    'content-type': `${mediaType}; charset=utf-8`,
    ...headers,
    ...quotaHeadersOf(context),
  })
}

interface HttpPart {
  status?: number
  headers?: Record<string, string>
  /** The status is that of application/graphql-response+json; application/json has 200. */
  spec?: boolean
}

function statusOf(errors: readonly GraphQLError[], isPlainJson: boolean) {
  let status = 0
  const headers: Record<string, string> = {}
  for (const { extensions } of errors) {
    const http = extensions['http'] as HttpPart | undefined
    Object.assign(headers, http?.headers)
    if (http?.status && !(isPlainJson && http.spec)) status = Math.max(status, http.status)
  }
  return { status: status || 200, headers }
}
