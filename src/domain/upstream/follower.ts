/** Who follows the notifications of upstreams in this process, when anybody does: only workers do. */
import type { House } from '../access/index.ts'

export interface Follower {
  /** The name of this process in `upstreams.listener`. */
  name: string
  /** Listens to the upstream from now on; does nothing when it does already. */
  follow(id: string): Promise<void>
}

/** By the connections of a house, since a test has several houses in one process. */
const followers = new WeakMap<House['connections'], Follower>()

export function followerOf(house: House): Follower | null {
  return followers.get(house.connections) ?? null
}

/** Null when it stops. */
export function setFollower(house: House, follower: Follower | null): void {
  if (follower) followers.set(house.connections, follower)
  else followers.delete(house.connections)
}
