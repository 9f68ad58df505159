/** Refreshes an upstream after it reported that its lists changed; the refresh runs in whichever worker claims it. */
import type { Services } from '../access/index.ts'
import { wakeUpstream } from './save.ts'

/** The shortest interval between two refreshes, however often the upstream reports a change. Milliseconds. */
const everyMs = 500

/** The returned function schedules a refresh: at once, or, within the interval, once at its end. */
export function noticeChange(services: Services, id: string): () => void {
  let next = 0
  let timer: NodeJS.Timeout | null = null
  const act = () => {
    timer = null
    next = Date.now() + everyMs
    wakeUpstream(services.db, id).then(
      () => services.pubsub.publish([{ kind: 'work', table: 'upstreams' }]),
      (error: unknown) =>
        services.log.warn(
          { err: error, id },
          'could not schedule the refresh of an upstream; it is refreshed later',
        ),
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
