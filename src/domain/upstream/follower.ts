/** The component of this process that listens to notifications of upstreams; only worker processes have one. */
import type { Services } from '../access/index.ts'

export interface Follower {
  /** The name of this process in `upstreams.listener`. */
  name: string
  /** Starts to listen to the upstream; does nothing when it already listens. */
  follow(id: string): Promise<void>
}

/** By the services' connection pool, since one test process runs several servers. */
const followers = new WeakMap<Services['connections'], Follower>()

export function followerOf(services: Services): Follower | null {
  return followers.get(services.connections) ?? null
}

/** Null: the follower has stopped. */
export function setFollower(services: Services, follower: Follower | null): void {
  if (follower) followers.set(services.connections, follower)
  else followers.delete(services.connections)
}
