/** The address of the platform's own server, for both eras. */
import { isLegacyRequest } from '@modelcontextprotocol/server'
import type { Log } from '../../core/log.ts'
import { assertUnbound } from '../../domain/access/index.ts'
import { webRequest } from './adapter.ts'
import type { Knock } from './agent-place.ts'
import { codes, rpcError } from './errors.ts'
import { legacyLeg, modernLeg } from './legs.ts'
import { platformServer } from './platform-server.ts'

/** Serves one request. A key that is bound to an agent opens that agent's bridge and nothing else. */
export async function servePlatform(knock: Knock, log: Log): Promise<Response> {
  const { request, body, ctx, url, gone } = knock
  assertUnbound(ctx.principal)
  if (request.method !== 'POST') {
    const refusal = rpcError(null, codes.invalidRequest, 'Only POST is served here.', {
      type: 'method_not_allowed',
    })
    return Response.json(refusal, { status: 405, headers: { allow: 'POST' } })
  }
  const streams = request.headers.accept?.includes('text/event-stream') ?? false
  const plain = request.headers['mcp-protocol-version'] === undefined
  const accept = plain ? 'application/json, text/event-stream' : request.headers.accept
  const inbound = { request: webRequest(request, url, gone, accept), body }
  const make = () => platformServer(ctx, plain, log)
  return (await isLegacyRequest(inbound.request, body))
    ? legacyLeg(make, inbound, !streams, () => {})
    : modernLeg({ make, log }, inbound).response
}
