/** Who follows the notifications of upstreams in this process, when anybody does: only workers do. */
import type { Services } from '../access/index.ts'

export interface Follower {
  /** The name of this process in `upstreams.listener`. */
  name: string
  /** Listens to the upstream from now on; does nothing when it does already. */
  follow(id: string): Promise<void>
}

/** By the connections of a house, since a test has several houses in one process. */
const followers = new WeakMap<Services['connections'], Follower>()

export function followerOf(services: Services): Follower | null {
  return followers.get(services.connections) ?? null
}

/** Null when it stops. */
export function setFollower(services: Services, follower: Follower | null): void {
  if (follower) followers.set(services.connections, follower)
  else followers.delete(services.connections)
}
