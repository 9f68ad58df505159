/** The runs that one screen follows: its own, and the child runs that are opened in it. */
import { useEffect, useState, type ReactNode } from 'react'
import { useStore, type Store } from '../../api/store.ts'
import type { Run, RunRead } from '../../parts/run/run-feed.ts'
import { useRunFeed } from '../../parts/run/use-run-feed.ts'
import type { Writing } from '../../parts/run/writing.ts'

export interface RunsOnScreen {
  top: RunRead
  /** The text on its way in the run of the screen. */
  writing: Store<Writing | null>
  /** How many events of the run of the screen were heard. */
  heard: Store<number>
  /** The opened child runs that have been read, by id. */
  children: ReadonlyMap<string, Run>
  opened: ReadonlySet<string>
  open(id: string): void
  close(id: string): void
  reload(): void
  /** Follows what is opened; it draws nothing. */
  followers: ReactNode
}

/** Of one run; another run is another screen. */
export function useRuns(id: string): RunsOnScreen {
  const feed = useRunFeed(id)
  const top = useStore(feed.read)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const [children, setChildren] = useState<ReadonlyMap<string, Run>>(new Map())
  return {
    top,
    writing: feed.writing,
    heard: feed.heard,
    children,
    opened,
    open: (child) => setOpened((before) => new Set([...before, child])),
    close: (child) => setOpened((before) => new Set([...before].filter((one) => one !== child))),
    reload: feed.reload,
    followers: [...opened].map((child) => <Follower key={child} id={child} onRead={setChildren} />),
  }
}

interface FollowerProps {
  id: string
  onRead(change: (before: ReadonlyMap<string, Run>) => ReadonlyMap<string, Run>): void
}

function Follower({ id, onRead }: FollowerProps) {
  const { read } = useRunFeed(id)
  useEffect(
    () =>
      read.subscribe(() => {
        const { run } = read.get()
        if (run) onRead((before) => (before.get(id) === run ? before : new Map([...before, [id, run]])))
      }),
    [id, read, onRead],
  )
  return null
}
