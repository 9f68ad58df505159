/** Opens sockets only to checked addresses: resolves once, checks every address, connects to exactly those. */
import { type Socket, isIP, type LookupFunction } from 'node:net'
import { lookup as systemLookup } from 'node:dns/promises'
import { buildConnector } from 'undici'
import { EgressError } from './egress-error.ts'
import { blockedError, blockedName, portOf, type Guard } from './policy.ts'

const start = Buffer.from('HTTP/1.1 100')
const end = '\r\n\r\n'
/** One larger than this is left to undici, which refuses it. Bytes. */
const maxBytes = 8192

/**
 * Removes `100 Continue` in front of each response that the socket receives. A response is awaited from the moment in which
 * something was written until its first bytes have come. Only for sockets that carry one request at a time.
 */
function withoutContinues(socket: Socket): void {
  const write = socket.write.bind(socket) as (...parameters: unknown[]) => boolean
  const push = socket.push.bind(socket)
  let isAwaited = false
  let held: Buffer | null = null
  socket.write = (...parameters: unknown[]) => {
    isAwaited = true
    return write(...parameters)
  }
  socket.push = (chunk: Buffer | null, ...more) => {
    if (!isAwaited) return push(chunk, ...more)
    if (chunk === null) {
      if (held) push(held)
      held = null
      return push(null)
    }
    held = held ? Buffer.concat([held, chunk]) : chunk
    const left = withoutContinue(held)
    if (left === null) return true
    held = null
    if (left.length === 0) return true
    isAwaited = false
    return push(left)
  }
}

/** What follows the responses 100; null while it cannot be known yet. */
function withoutContinue(bytes: Buffer): Buffer | null {
  let rest = bytes
  while (startsAlike(rest)) {
    if (rest.length === 0) return rest
    const at = rest.indexOf(end)
    if (at < 0 || rest.length < start.length) return rest.length > maxBytes ? rest : null
    rest = rest.subarray(at + end.length)
  }
  return rest
}

/** Whether these bytes are the beginning of a response 100, as far as they go. */
function startsAlike(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}

/** Every address of a host name, in the order to try them. */
export type Lookup = (host: string) => Promise<string[]>

/** The operating system's resolver, `/etc/hosts` included. */
export const lookupBySystem: Lookup = async (host) =>
  (await systemLookup(host, { all: true, verbatim: true })).map(({ address }) => address)

const connectTimeoutMs = 10_000

/**
 * A connector for undici. One forbidden address among many refuses the host: a name that resolves to a public and a
 * private address is an attack. The socket gets the checked addresses instead of a resolver, so that it never connects
 * to the result of a second look-up.
 */
export function createConnector(guard: Guard, lookup: Lookup): buildConnector.connector {
  return (options, callback) => {
    checkedAddresses(guard, lookup, options).then(
      (addresses) => {
        const connect = buildConnector({ timeout: connectTimeoutMs, lookup: pinned(addresses) })
        connect(options, (error, socket) => {
          if (error) return callback(unreachable(error), null)
          withoutContinues(socket)
          callback(null, socket)
        })
      },
      (error: Error) => callback(error, null),
    )
  }
}

async function checkedAddresses(guard: Guard, lookup: Lookup, to: buildConnector.Options): Promise<string[]> {
  const host = to.hostname.replace(/^\[|\]$/g, '')
  const port = portOf(to)
  const isName = isIP(host) === 0
  const addresses = isName ? await resolve(lookup, host) : [host]
  if (!addresses.every((address) => guard.allows(host, port, address)))
    throw isName ? blockedName() : blockedError()
  return addresses
}

async function resolve(lookup: Lookup, host: string): Promise<string[]> {
  const unresolved = (cause?: unknown) =>
    new EgressError('CONNECT', 'No connection could be made to the host.', false, cause)
  const addresses = await lookup(host).catch((error: unknown) => {
    throw unresolved(error)
  })
  if (addresses.length === 0) throw unresolved()
  return addresses
}

function pinned(addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

function unreachable(cause: Error): EgressError {
  return new EgressError('CONNECT', 'No connection could be made to the host.', false, cause)
}
