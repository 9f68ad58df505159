/** The one door out of the house. */

export interface EgressPolicy {
  /** Allow private, loopback and link-local targets. For development only. */
  allowPrivate: boolean
  /** `host:port` pairs that are allowed although their address is private (the demo upstream, a sidecar). */
  allowList: string[]
}
