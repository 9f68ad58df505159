/** Removes secrets that were sent to a server from every message that it sends back. */
import type { Transport } from '@modelcontextprotocol/client'
import { unpackValue } from '../../../core/json.ts'
import { scrubber } from '../../../core/scrub.ts'

/** Values that were sent over one connection and must not be shown: secrets and tokens. */
export interface HiddenValues {
  add(value: string): void
  /** Returns a copy that contains none of them. */
  clean<Value>(value: Value): Value
}

/** Bounds the memory when a connection uses a new token for each request. */
const mostValues = 50

export function hiddenValues(initial: Iterable<string>): HiddenValues {
  const values = new Set(initial)
  let clean = scrubber([...values])
  return {
    add(value) {
      if (values.has(value)) return
      values.add(value)
      if (values.size > mostValues) values.delete(values.values().next().value!)
      clean = scrubber([...values])
    },
    clean: (value) => (clean ? clean(value) : value),
  }
}

/** Cleans each message before the transport's client receives it, and puts the digits of its numbers back. Call it before the client is connected. */
export function cleanMessages(transport: Transport, hidden: HiddenValues): void {
  let handler: Transport['onmessage']
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => handler && cleaned,
    set: (listener: Transport['onmessage']) => {
      handler = listener
    },
  })
  const cleaned: NonNullable<Transport['onmessage']> = (message, extra) => {
    const { id, method } = message as { id?: unknown; method?: unknown }
    const envelope = { ...(id === undefined ? {} : { id }), ...(method === undefined ? {} : { method }) }
    handler?.(
      {
        ...hidden.clean(unpackValue(message) as typeof message),
        ...envelope,
        jsonrpc: message.jsonrpc,
      } as typeof message,
      extra,
    )
  }
}

/** Wraps `fetch`; the credential of each request is hidden from then on. */
export function hidingCredentials(
  fetch: typeof globalThis.fetch,
  hidden: HiddenValues,
): typeof globalThis.fetch {
  return (input, init) => {
    const credential = new Headers(init?.headers).get('authorization')?.replace(/^\S+\s+/, '')
    if (credential) hidden.add(credential)
    return fetch(input, init)
  }
}
