/** One run that is followed for as long as a component shows it. */
import { useEffect, useMemo } from 'react'
import { useFeed } from '../../api/feed.ts'
import { makeRunFeed, type RunFeed } from './run-feed.ts'

export function useRunFeed(id: string): RunFeed {
  const feed = useMemo(() => makeRunFeed(id), [id])
  useEffect(() => feed.start(), [feed])
  // A person may still say what became of a call when its run has ended, and a pause is no event of a run.
  useFeed(['UNKNOWN_CALL_RESOLVED', 'PAUSE_STARTED', 'PAUSE_ENDED'], () => feed.reload())
  return feed
}
