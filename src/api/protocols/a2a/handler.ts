/** A2A 1.0 (Agent2Agent) over the runs of agents: for each an agent card, and two bindings of the same methods. */
import { notFound } from '../../../core/errors.ts'
import { decoded, type ApiCall, type AuthenticatedApi } from '../../http/authenticated-api.ts'
import { cardOf } from './card.ts'
import { A2aError, errorBody, statusBody } from './errors.ts'
import { httpJsonRoutes, isHttpJson } from './http-json.ts'
import { answerRpc } from './rpc.ts'

/** `publicUrl` is the address that cards name. */
export function a2aApi(publicUrl: () => string): AuthenticatedApi {
  const rpc = (call: ApiCall) => answerRpc(call, decoded(call.params['agent']!, 'agent'))
  return {
    resource: '/a2a',
    routes: [
      { method: 'POST', path: '/a2a/{agent}', run: rpc },
      { method: 'POST', path: '/a2a/{agent}/', run: rpc },
      ...httpJsonRoutes,
      {
        method: 'GET',
        path: '/a2a/{agent}/.well-known/agent-card.json',
        head: true,
        run: async ({ request: { ctx }, params }) => ({
          status: 200,
          body: await cardOf(ctx, decoded(params['agent']!, 'agent'), publicUrl()),
        }),
      },
    ],
    errorBody: (error, path) => (isHttpJson(path) ? statusBody(error) : errorBody(error, null)),
    missing: ({ path }) => notFound('agent at the path', path),
    notAllowed: new A2aError(
      'INVALID_REQUEST',
      'Method not allowed: GET the card or tasks, and POST JSON-RPC, messages or what a task shall do.',
    ),
  }
}
