/** A2A's HTTP+JSON binding: a path for each method, parameters in the path, the query or the body. */
import { invalidAt } from '../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { asAppError } from '../../../domain/access/index.ts'
import { decodePathPart, type ApiCall, type ApiReply, type ApiRoute } from '../../http/authenticated-api.ts'
import { retryAfter, statusOf } from '../../http/replies.ts'
import { A2aError, statusBody } from './errors.ts'
import { perform } from './methods.ts'
import { assertVersion } from './request.ts'

const base = '/a2a/{agent}'
const push = `${base}/tasks/{task}/pushNotificationConfigs`

/** Whether errors of a path have the form of this binding. */
export const isHttpJson = (path: string): boolean =>
  /^\/a2a\/[^/]+\/(message:|tasks(\/|$)|extendedAgentCard$)/.test(path)

export const httpJsonRoutes: readonly ApiRoute[] = [
  route('POST', `${base}/message:send`, () => 'SendMessage'),
  route('POST', `${base}/message:stream`, () => 'SendStreamingMessage'),
  route('GET', `${base}/tasks`, () => 'ListTasks'),
  route('GET', `${base}/tasks/{task}`, (verb) =>
    verb === null ? 'GetTask' : verb === 'subscribe' ? 'SubscribeToTask' : null,
  ),
  route('POST', `${base}/tasks/{task}`, (verb) =>
    verb === 'cancel' ? 'CancelTask' : verb === 'subscribe' ? 'SubscribeToTask' : null,
  ),
  route('GET', `${base}/extendedAgentCard`, () => 'GetExtendedAgentCard'),
  route('POST', push, () => 'CreateTaskPushNotificationConfig'),
  route('GET', push, () => 'ListTaskPushNotificationConfigs'),
  route('GET', `${push}/{config}`, () => 'GetTaskPushNotificationConfig'),
  route('DELETE', `${push}/{config}`, () => 'DeleteTaskPushNotificationConfig'),
]

/** `methodOf` gets what stands behind the colon of a task: its verb. Null for one that A2A does not have. */
function route(
  method: ApiRoute['method'],
  path: string,
  methodOf: (verb: string | null) => string | null,
): ApiRoute {
  return {
    method,
    path,
    async run(call) {
      try {
        return await answer(call, methodOf)
      } catch (error) {
        const known = asAppError(error)
        if (!known || call.response.headersSent) throw error
        const headers = retryAfter(known.details.retryAfterMs)
        return { status: statusOf(known), body: statusBody(known), headers }
      }
    },
  }
}

async function answer(
  { request, response, params }: ApiCall,
  methodOf: (verb: string | null) => string | null,
): Promise<ApiReply | null> {
  const [, task, verb = null] = /^(.*?)(?::([^:]*))?$/s.exec(params['task'] ?? '')!
  const method = methodOf(verb)
  if (method === null)
    throw new A2aError('METHOD_NOT_FOUND', 'A task has :cancel (POST) and :subscribe; GET it without either.')
  assertVersion(request)
  const given = request.method === 'GET' ? ofQuery(request.query) : await ofBody(request)
  const id = params['task'] === undefined ? {} : { id: decodePathPart(task!, 'task') }
  const result = await perform(method, {
    request,
    response,
    agentNamed: decodePathPart(params['agent']!, 'agent'),
    params: { ...given, ...id },
    at: [],
    event: (one) => one,
  })
  return result && { status: 200, body: result }
}

async function ofBody(request: ApiCall['request']): Promise<JsonObject> {
  const body = (await request.body()) ?? {}
  if (!isJsonObject(body)) throw invalidAt(['body'], 'must be an object')
  return body
}

/** The parameters of a query, with numbers and switches as such: the first value of each name. */
function ofQuery(query: URLSearchParams): JsonObject {
  const given: JsonObject = {}
  for (const name of new Set(query.keys())) {
    const value = query.get(name)!
    if (['historyLength', 'pageSize'].includes(name) && /^\d{1,10}$/.test(value)) given[name] = Number(value)
    else if (name === 'includeArtifacts' && /^(true|false)$/.test(value)) given[name] = value === 'true'
    else given[name] = value
  }
  return given
}
