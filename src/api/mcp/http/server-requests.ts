/**
 * Requests of this server to a legacy client, such as elicitation: sent on the stream of the client's own request. The
 * client's response arrives with another POST, perhaps at another replica.
 */
import { randomUUID } from 'node:crypto'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { onAbort } from '../../../core/time.ts'
import { asText, isJsonObject, type JsonObject, packValue, readJson, writeJson } from '../../../core/json.ts'
import { purposeKey, sign } from '../../../core/signing.ts'
import { unauthenticatedError, type Ctx, type Services } from '../../../domain/access/index.ts'
import type { InputRequest, McpSession } from '../../../domain/bridge/index.ts'
import { codes, protocolError } from './errors.ts'

/** A longer response reaches only the replica that asked, in characters: a pub/sub signal holds no more. */
const maxSignalLength = 6000

/** Sends a JSON-RPC request on the stream of the client's request. */
export type SendServerRequest = (request: JSONRPCRequest) => Promise<void>

export interface ServerRequests {
  /**
   * Sends a request and returns the client's result. Throws a ProtocolError when the client returns an error, and the
   * signal's reason when it disconnects. Meanwhile it counts as a stream of the key: LIMITED, and UNAUTHENTICATED when
   * the key is revoked.
   */
  send(
    ctx: Ctx,
    session: Pick<McpSession, 'id'>,
    request: InputRequest,
    send: SendServerRequest,
    disconnected: AbortSignal,
  ): Promise<JsonObject>
  /** Delivers a client's response to the request that waits for it, here or on another replica. Drops unexpected ones. */
  receive(ctx: Ctx, session: Pick<McpSession, 'id'>, response: JsonObject): void
  close(): void
}

export function createServerRequests({
  pubsub,
  masterKey,
}: Pick<Services, 'pubsub' | 'masterKey'>): ServerRequests {
  const pending = new Map<string, (response: JsonObject) => void>()
  const key = purposeKey(masterKey, 'mcp question')
  const nameOf = (ctx: Ctx, session: Pick<McpSession, 'id'>, requestId: unknown) =>
    sign(key, [ctx.principal.id, session.id, writeJson(requestId) ?? null])
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind !== 'signal' || hint.name !== 'answered') return
    const [name = '', text = ''] = hint.id.split(/ (.*)/s)
    pending.get(name)?.(readJson(text) as JsonObject)
  })
  return {
    async send(ctx, session, { method, params = {} }, send, disconnected) {
      const id = `ask-${randomUUID()}`
      const name = nameOf(ctx, session, id)
      const revoked = new AbortController()
      const leave = ctx.revocations.onRevoked(ctx.principal, () => revoked.abort(unauthenticatedError()))
      try {
        const answered = new Promise<JsonObject>((resolve, reject) => {
          pending.set(name, resolve)
          for (const signal of [disconnected, revoked.signal])
            onAbort(signal, () => reject(signal.reason as Error))
        })
        answered.catch(() => {})
        await send({ jsonrpc: '2.0', id, method, params: packValue(params) as JsonObject })
        return resultOf(await answered)
      } finally {
        pending.delete(name)
        leave()
      }
    },
    receive(ctx, session, response) {
      const name = nameOf(ctx, session, response['id'])
      const deliver = pending.get(name)
      if (deliver) return deliver(response)
      const id = `${name} ${writeJson(response)}`
      if (id.length <= maxSignalLength) return pubsub.publish([{ kind: 'signal', name: 'answered', id }])
      throw protocolError(
        codes.invalidRequest,
        'This response is too large to be passed to the replica that asked for it.',
        'answer_too_large',
      )
    },
    close: unsubscribe,
  }
}

/** Whether a message of the client is the response to a request of this server. */
export function isClientResponse(message: JsonObject): boolean {
  return message['method'] === undefined && ('result' in message || 'error' in message)
}

function resultOf({ result, error }: JsonObject): JsonObject {
  if (isJsonObject(result)) return result
  const reason = isJsonObject(error) ? asText(error['message']) : 'no result'
  throw protocolError(codes.invalidParams, `The client refused: ${reason.slice(0, 200)}`, 'input_refused')
}
