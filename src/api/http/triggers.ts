/** The URLs of hooks: signed messages that start runs. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Services } from '../../domain/access/index.ts'
import { hookPath, receiveMessage } from '../../domain/triggers/index.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type RouteGroup } from './route.ts'

const maxBytes = 256 * 1024

export interface HookParts {
  services: Services
  addressOf(request: IncomingMessage): string | null
}

export function makeHooks(parts: HookParts): RouteGroup {
  return openRoutes(parts.services.log, {
    routes: [{ method: 'POST', path: `${hookPath}{triggerId}`, run: (call) => receive(parts, call) }],
    errorBody: ({ code, message }) => ({ error: message, code }),
  })
}

async function receive({ services, addressOf }: HookParts, call: OpenCall): Promise<void> {
  const { request, response, readBody, params } = call
  // Byte for byte: the signature is over it. All senders of hooks count as one, since none has shown a key yet: authenticated
  // requests keep their memory.
  const body = await readBody('hooks', maxBytes)
  if (!body) return
  const header = (name: string) => String(request.headers[`webhook-${name}`] ?? '')
  const generationId = await receiveMessage(services, {
    triggerId: params['triggerId']!,
    id: header('id'),
    timestamp: header('timestamp'),
    signature: header('signature'),
    body,
    remoteAddress: addressOf(request),
    requestId: randomUUID(),
  })
  sendJson(response, 202, { generationId })
}
