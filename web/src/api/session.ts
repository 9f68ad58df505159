/** Who is signed in. The session is a cookie that scripts cannot read; nothing of it is stored by the page. */
import { writeJson } from '../../../src/core/exact-json.ts'
import { createStore, useStore } from './store.ts'
import { t } from '../texts/texts.tsx'

export interface OpenSession {
  state: 'in'
  /** The principal that the page shows: what is sent in the name of another one is refused. */
  id: string
  name: string
  projectId: string | null
}

export interface ClosedSession {
  state: 'out'
  /** Why the sign-in page is shown; null when nobody was signed in. */
  reason: string | null
  /** Where signing in with the identity provider begins; null when there is none. */
  loginPath: string | null
}

type Session = { state: 'unknown' } | OpenSession | ClosedSession

const session = createStore<Session>({ state: 'unknown' })
/** The project that the person chose; null for the default one of the session. */
const chosen = createStore<string | null>(null)
let loginPath: string | null = null

export const useSession = (): Session => useStore(session)
export const useProject = (): string | null => {
  useStore(chosen)
  useStore(session)
  return currentProject()
}
export const chooseProject = (id: string): void => chosen.set(id)

/** Calls back when another project is in use, or none; before any component learns of it. */
export function onProject(listener: (projectId: string | null, isIn: boolean) => void): void {
  let last: string | null | undefined
  const tell = () => {
    const isIn = session.get().state === 'in'
    const now = isIn ? currentProject() : null
    const key = `${isIn} ${now}`
    if (key === last) return
    last = key
    listener(now, isIn)
  }
  session.subscribe(tell)
  chosen.subscribe(tell)
}

/** The id of the project that operations are for; null before sign-in, and for a key without a default project. */
export function currentProject(): string | null {
  const now = session.get()
  return chosen.get() ?? (now.state === 'in' ? now.projectId : null)
}

/** The id of the principal that is signed in; null before sign-in. */
export function currentPrincipal(): string | null {
  const now = session.get()
  return now.state === 'in' ? now.id : null
}

interface SessionBody {
  id?: string
  name?: string
  project?: { id: string } | null
  /** Null when nobody is signed in. */
  session?: object | null
  /** The ways to sign in: `key`, `oidc`. */
  methods?: string[]
  error?: string
}

/** How long after a failed read it is asked again who is signed in, in milliseconds. */
const laterMs = 2_000

/** Asks the server who is signed in, until it answers or somebody signs in. */
export async function readSession(): Promise<void> {
  const before = session.get()
  try {
    const response = await fetch('/session', { headers: { accept: 'application/json' } })
    if (response.status >= 500) throw new Error(response.statusText)
    const body = (await response.json()) as SessionBody
    if (session.get() === before) take(body)
  } catch {
    if (session.get() !== before) return
    const unread: Session = { state: 'out', reason: t('The server cannot be reached.'), loginPath }
    session.set(unread)
    setTimeout(() => session.get() === unread && void readSession(), laterMs)
  }
}

/** Signs in with an API key. Returns why it was refused, or null. */
export async function signIn(key: string): Promise<string | null> {
  try {
    const response = await fetch('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: writeJson({ key }),
    })
    const body = (await response.json()) as SessionBody
    if (!response.ok) return body.error ?? t('The key was refused.')
    take(body)
    return null
  } catch {
    return t('The server cannot be reached. Try again.')
  }
}

export async function signOut(): Promise<void> {
  const isDone = await fetch('/session', { method: 'DELETE' }).then(
    ({ ok }) => ok,
    () => false,
  )
  // The cookie is still there: whoever loads the page again is signed in.
  endSession(isDone ? null : t('You may still be signed in.'))
}

/** Names the session that is open now, for `endSession`. */
export const thisSession = (): object => session.get()

/**
 * Shows the sign-in page, unless another session than `of` is open meanwhile. The address stays, so that signing in again
 * opens what was open.
 */
export function endSession(reason: string | null, of: object = session.get()): void {
  if (session.get() !== of) return
  chosen.set(null)
  session.set({ state: 'out', reason, loginPath })
}

function take({ id, name, project, session: open, methods, error }: SessionBody): void {
  if (methods) loginPath = methods.includes('oidc') ? '/session/login' : null
  if (open) session.set({ state: 'in', id: id ?? '', name: name ?? '', projectId: project?.id ?? null })
  else session.set({ state: 'out', reason: error ?? null, loginPath })
}
