/** Opens sockets only to checked addresses: resolves once, checks every address, connects to exactly those. */
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { withoutContinues } from './continues.ts'
import { EgressError } from './egress-error.ts'
import { blocked, blockedName, portOf, type Guard } from './policy.ts'

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
    throw isName ? blockedName() : blocked()
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
