/** The hosts that a secret may be sent to. Pure. */
import { z } from 'zod'

const labels = String.raw`[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*`
const shape = new RegExp(String.raw`^((\*\.)?${labels}|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)

/** `api.example.com` on every port, `api.example.com:8443` on that port, `*.example.com` for every subdomain. */
export const allowedHostsShape = z
  .array(
    z
      .string()
      .max(260)
      .transform((host) => host.toLowerCase())
      .refine(
        (host) => shape.test(host),
        'must be a host, as api.example.com, api.example.com:8443 or *.example.com',
      ),
  )
  .min(1, 'must name a host; leave it out for any host')
  .max(50)

/** Whether a secret with these allowed hosts may be sent to this URL. Null: it may be sent to any. */
export function mayGoTo(allowedHosts: readonly string[] | null, address: string | URL): boolean {
  if (allowedHosts === null) return true
  if (!URL.canParse(String(address))) return false
  const { hostname, port, protocol } = new URL(address)
  const used = port || (protocol === 'http:' ? '80' : '443')
  return allowedHosts.some((allowed) => {
    const [, name, onPort] = /^(\[.*\]|[^:]*)(?::([0-9]+))?$/.exec(allowed)!
    if (onPort !== undefined && Number(onPort) !== Number(used)) return false
    return name!.startsWith('*.') ? hostname.endsWith(name!.slice(1)) : hostname === name
  })
}
