/** An upstream says that its lists have changed: it is looked at again, wherever there is a worker. */
import type { Services } from '../access/index.ts'
import { wakeUpstream } from './save.ts'

/** However often it says so, it is looked at so often at most. Milliseconds. */
const everyMs = 500

/** The first word acts at once; what follows too soon acts when its time has come, once. */
export function noticeChange(services: Services, id: string): () => void {
  let next = 0
  let timer: NodeJS.Timeout | null = null
  const act = () => {
    timer = null
    next = Date.now() + everyMs
    wakeUpstream(services.db, id).then(
      () => services.pubsub.publish([{ kind: 'work', table: 'upstreams' }]),
      (error: unknown) =>
        services.log.warn({ err: error, id }, 'an upstream could not be woken; it is looked at later'),
    )
  }
  return () => {
    if (timer) return
    const wait = next - Date.now()
    if (wait <= 0) return act()
    timer = setTimeout(act, wait)
    timer.unref()
  }
}
