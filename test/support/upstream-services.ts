/** Services with upstreams, for tests of the module: saved as the registry saves them, watched by their events. */
import { newId } from '../../src/core/ids.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Services } from '../../src/domain/access/index.ts'
import {
  callUpstream,
  loadUpstreams,
  refreshUpstream,
  saveUpstream,
  type Catalog,
  type UpstreamAuth,
  type UpstreamCall,
  type UpstreamState,
} from '../../src/domain/upstream/index.ts'
import { atomically } from '../../src/store/db/database.ts'
import { numberAll } from '../../src/store/events/numbering.ts'
import { readFeed } from '../../src/store/events/read.ts'
import { beginning } from '../../src/store/events/position.ts'

export const projectId = 'proj_upstreams'

export interface Saved {
  id: string
  /** Refreshes now. */
  refresh(): Promise<UpstreamState>
  state(): Promise<UpstreamState & { catalog: Catalog }>
  call(tool: string, args?: JsonObject, more?: Partial<UpstreamCall>): Promise<any>
  /** The project's events about it so far, oldest first. */
  events(): Promise<{ type: string; data: any }[]>
  /** Waits until its state is as wanted; checks it after every hint. */
  until(
    wanted: (state: UpstreamState & { catalog: Catalog }) => boolean,
  ): Promise<UpstreamState & { catalog: Catalog }>
}

/** Saves an upstream; with `ring` a worker refreshes it at once. */
export async function saveTo(
  services: Services,
  url: string,
  more: { headers?: Record<string, string>; auth?: UpstreamAuth | null; ring?: boolean; id?: string } = {},
): Promise<Saved> {
  const { headers = {}, auth = null, ring = false, id = newId('tool') } = more
  await atomically(services.db, (tx) => saveUpstream(tx, { id, projectId, config: { url, headers, auth } }))
  if (ring) services.pubsub.publish([{ kind: 'work', table: 'upstreams' }])
  return savedOf(services, id)
}

/** The same helpers for an existing upstream, perhaps one that another replica saved. */
export function savedOf(services: Services, id: string): Saved {
  const state = async () => (await loadUpstreams(services.db, [id])).get(id)!
  let calls = 0
  return {
    id,
    state,
    refresh: () => refreshUpstream(services, id),
    call: (tool, args = {}, rest = {}) =>
      callUpstream(services, {
        id,
        projectId,
        tool,
        arguments: args,
        callId: `call_${id.slice(5)}${++calls}`,
        timeoutMs: 10_000,
        ...rest,
      }),
    async events() {
      await numberAll(services.db, services.pubsub)
      const page = await readFeed(services.db, projectId, beginning, 1000)
      return page.events
        .filter((event) => event.data['toolId'] === id)
        .map(({ type, data }) => ({ type, data }))
    },
    until(wanted) {
      return new Promise((resolve, reject) => {
        let unsubscribe = () => {}
        let checking = Promise.resolve()
        let over = false
        const look = () =>
          (checking = checking
            .then(async () => {
              const now = over ? null : await state()
              if (!now || !wanted(now)) return
              end()
              resolve(now)
            })
            .catch(reject))
        // The event may not be readable yet, or come from another process.
        const timer = setInterval(() => void look(), 100)
        const end = () => {
          over = true
          clearInterval(timer)
          unsubscribe()
        }
        unsubscribe = services.pubsub.subscribe(() => void look())
        void look()
      })
    },
  }
}
