/**
 * The events of the project: one subscription for the whole page, from the cursor of the first snapshot on, so that what a
 * screen reads later and what it hears join without a gap. Screens say which types concern them.
 */
import { useEffect, useRef } from 'react'
import { ask, patiently } from './client.ts'
import { declaredEvents } from './declared-events.ts'
import { graphql, textOf, type ResultOf } from './document.ts'
import { follow } from './follow.ts'
import { currentProject, endSession, onProject } from './session.ts'
import { closeSocket } from './socket.ts'
import { t } from '../texts/texts.tsx'

const cursorQuery = graphql(`
  query FeedCursor($projectId: ID!) {
    project(id: $projectId) {
      feedCursor
    }
  }
`)

const feedDocument = graphql(`
  subscription Feed($projectId: ID, $after: String, $types: [EventType!]) {
    projectEvents(projectId: $projectId, after: $after, types: $types) {
      __typename
      cursor
      type
      at
      ... on GenerationEvent {
        generationId
      }
      ... on ApprovalRequestedEvent {
        approval {
          id
        }
      }
      ... on ApprovalVotedEvent {
        approval {
          id
        }
      }
      ... on ApprovalDecidedEvent {
        approval {
          id
        }
      }
      ... on ApprovalExpiredEvent {
        approval {
          id
        }
      }
      ... on ApprovalEscalatedEvent {
        approval {
          id
        }
      }
      ... on ApprovalClaimEvent {
        approval {
          id
        }
      }
      ... on ApprovalClaimEvent {
        approval {
          id
        }
      }
      ... on ApprovalExtendedEvent {
        approval {
          id
        }
      }
      ... on ApprovalVoidedEvent {
        approval {
          id
        }
      }
    }
  }
`)

export type FeedEvent = ResultOf<typeof feedDocument>['projectEvents']
export type EventType = FeedEvent['type']

/** A type of events in the log, and how it is listed. */
export type LoggedType = keyof typeof declaredEvents
type Listing = (typeof declaredEvents)[LoggedType]
export type EventGroup = Listing['group']

/** The types of events that are listed so. */
export const typesThat = (isListed: (how: Listing) => boolean) =>
  (Object.keys(declaredEvents) as LoggedType[]).filter((type) => isListed(declaredEvents[type]))

/** Everything that a screen follows. Steps and calls of runs are heard by the screen of one run. */
export const followedEvents: readonly EventType[] = typesThat(({ isFollowed }) => isFollowed)

interface Listener {
  types: ReadonlySet<string>
  hear(event: FeedEvent | null): void
}
const listeners = new Set<Listener>()

/** Tells everybody who follows the type; null: anything may have changed. */
function broadcast(event: FeedEvent | null): void {
  for (const listener of listeners) if (!event || listener.types.has(event.type)) listener.hear(event)
}

/** Follows whichever project is in use, from now on. Call it once, before anything is rendered. */
export function followProject(): void {
  let stop = () => {}
  onProject((_projectId, isIn) => {
    stop()
    stop = () => {}
    if (isIn) stop = startFeed()
    else closeSocket()
  })
}

/** Resolves when the cursor is known from which events are followed: what is read after that misses none. */
let following: Promise<void> = Promise.resolve()
export const whenFollowing = (): Promise<void> => following

/** How often screens read again when this person may not follow events, in milliseconds. */
const pollMs = 5_000
/** How long after a refusal the feed begins anew, in milliseconds. */
const againMs = 1_000

/**
 * Follows the project until the returned function is called. After a loss of the connection it goes on behind the last
 * event. A cursor that the server does not know, as after a restore from a backup, begins anew: everybody reads again.
 */
function startFeed(): () => void {
  const stopped = new AbortController()
  let stop = () => {}
  // A server that refuses each time is not asked without a pause.
  const again = () => {
    const timer = setTimeout(() => void begin().then(() => broadcast(null)), againMs)
    stop = () => clearTimeout(timer)
  }
  const begin = async () => {
    const projectId = currentProject()
    const after = projectId ? await feedCursor(projectId, stopped.signal) : null
    if (stopped.signal.aborted) return
    if (projectId && after)
      stop = follow<FeedEvent>(
        textOf(feedDocument),
        'projectEvents',
        { projectId, after, types: [...followedEvents] },
        {
          hear: broadcast,
          refuse: again,
          complete: () => endSession(t('Your session has ended.')),
        },
      )
    else {
      const timer = setInterval(() => broadcast(null), pollMs)
      stop = () => clearInterval(timer)
    }
  }
  following = begin()
  return () => {
    stopped.abort()
    stop()
  }
}

/** The cursor to begin at; null when this person may not follow events. Tries until the server answers. */
async function feedCursor(projectId: string, stopped: AbortSignal): Promise<string | null> {
  const read = () => ask(cursorQuery, { projectId } as never, stopped)
  const { project } = await patiently(read, stopped).catch(() => ({ project: null }))
  return project?.feedCursor ?? null
}

/** Calls `hear` for each event of these types, and with null when anything may have changed. */
export function useFeed(types: readonly EventType[], hear: (event: FeedEvent | null) => void): void {
  const latest = useRef(hear)
  useEffect(() => {
    latest.current = hear
  })
  const key = types.join()
  useEffect(() => {
    const listener: Listener = { types: new Set(key.split(',')), hear: (event) => latest.current(event) }
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [key])
}
