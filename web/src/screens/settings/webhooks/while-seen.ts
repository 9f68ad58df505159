/**
 * Reading a webhook again while its page is seen. The feed says when it begins to fail, recovers or gives up, and not each
 * delivery; but each delivery follows an event of the feed.
 */
import { useEffect, useRef } from 'react'
import { followedEvents, useFeed } from '../../../api/feed.ts'
import type { WebhookRow } from './documents.ts'

/** After an event, for its delivery to be answered. */
const settleMs = 1_500
const busyMs = 4_000
/** For deliveries of events that the page does not follow. */
const calmMs = 20_000

type Work = Pick<WebhookRow, 'status' | 'pendingCount' | 'replayCount' | 'failingSince'>

/** Reads again after events, every few seconds while something is sent again or replayed, and else rarely. */
export function useWhileSeen(read: () => void, webhook: Work | null | undefined): void {
  const readIfSeen = useRef(() => {})
  useEffect(() => {
    readIfSeen.current = () => {
      if (document.visibilityState === 'visible') read()
    }
  })
  const settling = useRef<ReturnType<typeof setTimeout>>(undefined)
  useFeed(followedEvents, () => {
    settling.current ??= setTimeout(() => {
      settling.current = undefined
      readIfSeen.current()
    }, settleMs)
  })
  useEffect(() => () => clearTimeout(settling.current), [])
  const isBusy =
    webhook?.status === 'ENABLED' &&
    (webhook.pendingCount > 0 || webhook.replayCount > 0 || webhook.failingSince !== null)
  useEffect(() => {
    const timer = setInterval(() => readIfSeen.current(), isBusy ? busyMs : calmMs)
    return () => clearInterval(timer)
  }, [isBusy])
}
