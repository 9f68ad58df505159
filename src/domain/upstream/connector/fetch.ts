/**
 * The fetch of upstreams behind a connector: the messages of Streamable HTTP become messages to the connector. What is known
 * of their delivery is told as egress tells it: `sent` of an EgressError.
 */
import { onAbort } from '../../../core/time.ts'
import { isJsonObject, tryParseJson, writeJson } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import { EgressError, type Egress } from '../../egress/index.ts'
import { UpstreamFault } from '../fault.ts'
import { answerWatch } from './watch.ts'
import {
  cancel,
  connectedAt,
  dropMessage,
  putRequest,
  takeMs,
  withdraw,
  type ConnectorPlace,
} from './messages.ts'

type ConnectorServices = Pick<Services, 'db' | 'pubsub' | 'limits'>

/** What the connector sends in place of an answer that was too large. */
export const tooLarge = 'too large'

/** A fetch for the MCP server behind the connector. */
export function connectorFetch(services: ConnectorServices, place: ConnectorPlace): Egress['fetch'] {
  return async (_input, init) => {
    // There is no stream of notifications and no session to end.
    if (init?.method !== 'POST') return new Response(null, { status: 405 })
    const message = tryParseJson(typeof init.body === 'string' ? init.body : '')
    if (!isJsonObject(message)) return new Response(null, { status: 400 })
    // The connector has made its own handshake, and learns of a cancellation from the aborted request.
    if (message['id'] === undefined) return new Response(null, { status: 202 })
    init.signal?.throwIfAborted()
    const at = await connectedAt(services, place)
    if (!at) throw notTaking(place)
    if (init.mayStart?.(takeMs(services) * 1.5) === false)
      throw new EgressError('WITHHELD', 'The request was withheld.', false)
    const id = await putRequest(services, place, message, at)
    if (id === null) throw notTaking(place)
    try {
      const answer = await answerOf(services, place, id, init)
      if (answer === tooLarge)
        throw new EgressError('TOO_LARGE', 'A message of the server is too large for the connector.', true)
      // JSON text of an object with `result` or `error`.
      const body = `{"jsonrpc":"2.0","id":${writeJson(message['id'])},${answer.slice(1)}`
      return new Response(body, { headers: { 'content-type': 'application/json' } })
    } finally {
      void dropMessage(services, id).catch(() => {})
    }
  }
}

/**
 * Resolves with the answer, also when the connector has left before it sent that. Throws an EgressError, `sent` false when
 * nobody took the message and nobody will.
 */
async function answerOf(
  services: ConnectorServices,
  place: ConnectorPlace,
  id: string,
  { signal = null, onCarrierGone }: Parameters<Egress['fetch']>[1] & object,
): Promise<string> {
  let end = () => {}
  let withdrawing = false
  const answer = new Promise<string>((resolve, reject) => {
    const takeBack = () => {
      if (withdrawing) return
      withdrawing = true
      withdraw(services, id).then(
        (isBack) => void (isBack && reject(notTaking(place))),
        // Taken or not is not known; the next poll tries again.
        () => void (withdrawing = false),
      )
    }
    const forgetAbort = onAbort(signal, () => {
      void cancel(services, place, id).catch(() => {})
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
    })
    const forgetAnswer = answerWatch(services)(id, (state) => {
      if (state?.answer) resolve(state.answer)
      else if (state?.late) takeBack()
      else if (state?.lost && onCarrierGone) onCarrierGone(gone())
      else if (state?.lost || (state === null && !withdrawing)) reject(gone())
    })
    end = () => {
      forgetAbort()
      forgetAnswer()
    }
  })
  return answer.finally(() => end())
}

/** Nothing was sent: it may be sent again as long as the call may start. */
function notTaking({ name }: ConnectorPlace): EgressError {
  const fault = new UpstreamFault(
    'unreachable',
    `No connector named ${name} takes messages. Start it with: gatehouse connect ${name} -- COMMAND`,
  )
  return new EgressError('CONNECT', fault.message, false, fault)
}

function gone(): EgressError {
  return new EgressError('NETWORK', 'The connector went away before it answered.', true)
}
