/**
 * Asking a client of the old era: a request on the stream of its own request, whose answer comes by another POST, maybe
 * to another replica.
 */
import { randomUUID } from 'node:crypto'
import { onAbort } from '../../core/abort.ts'
import { asText, isJsonObject, type JsonObject } from '../../core/json.ts'
import { purposeKey, sign } from '../../core/signing.ts'
import type { Ctx, Services } from '../../domain/access/index.ts'
import { codes, protocolError } from './errors.ts'

/** Longer than this an answer reaches only the replica that asked, in characters: a signal holds no more. */
const maxSignal = 6000

export interface Question {
  method: string
  params: JsonObject
}

export interface Asks {
  /**
   * Sends a question and answers the client's result. Throws a ProtocolError when the client refuses, and the signal's
   * reason when it goes.
   */
  put(
    ctx: Ctx,
    sessionId: string,
    question: Question,
    send: (message: object) => Promise<void>,
    gone: AbortSignal,
  ): Promise<JsonObject>
  /** Hands on an answer of a client. Answers without a question are dropped. */
  answer(ctx: Ctx, sessionId: string, message: JsonObject): void
  close(): void
}

export function createAsks({ pubsub, masterKey }: Pick<Services, 'pubsub' | 'masterKey'>): Asks {
  const open = new Map<string, (message: JsonObject) => void>()
  const key = purposeKey(masterKey, 'mcp question')
  const nameOf = (ctx: Ctx, sessionId: string, id: unknown) =>
    sign(key, [ctx.principal.id, sessionId, JSON.stringify(id) ?? null])
  const unsubscribe = pubsub.subscribe((hint) => {
    if (hint.kind !== 'signal' || hint.name !== 'answered') return
    const [name = '', text = ''] = hint.id.split(/ (.*)/s)
    open.get(name)?.(JSON.parse(text) as JsonObject)
  })
  return {
    async put(ctx, sessionId, question, send, gone) {
      const id = `ask-${randomUUID()}`
      const name = nameOf(ctx, sessionId, id)
      try {
        const answered = new Promise<JsonObject>((resolve, reject) => {
          open.set(name, resolve)
          onAbort(gone, () => reject(gone.reason as Error))
        })
        answered.catch(() => {})
        await send({ jsonrpc: '2.0', id, ...question })
        return resultOf(await answered)
      } finally {
        open.delete(name)
      }
    },
    answer(ctx, sessionId, message) {
      const name = nameOf(ctx, sessionId, message['id'])
      const here = open.get(name)
      if (here) return here(message)
      const id = `${name} ${JSON.stringify(message)}`
      if (id.length <= maxSignal) return pubsub.publish([{ kind: 'signal', name: 'answered', id }])
      throw protocolError(
        codes.invalidRequest,
        'This answer is too large to be handed on.',
        'answer_too_large',
      )
    },
    close: unsubscribe,
  }
}

/** Whether a message answers a question of ours. */
export function isAnswer(message: JsonObject): boolean {
  return message['method'] === undefined && ('result' in message || 'error' in message)
}

function resultOf({ result, error }: JsonObject): JsonObject {
  if (isJsonObject(result)) return result
  const told = isJsonObject(error) ? asText(error['message']) : 'no result'
  throw protocolError(codes.invalidParams, `The client refused: ${told.slice(0, 200)}`, 'input_refused')
}
