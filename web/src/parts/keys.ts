/** The keyboard: one listener, and whoever is on screen says which keys it answers. */
import { createContext, useContext, useEffect, useRef, useState, type RefObject } from 'react'
import { createStore } from '../api/store.ts'

type Handlers = Record<string, (event: KeyboardEvent) => void>

/** Whether keys without Ctrl or ⌘ act; people who speak to their computer switch them off. */
export const singleKeys = createStore(true)

interface Hearer {
  current: Handlers
  /** The dialog that it is in; null: none. */
  dialog: symbol | null
  /** What is typed into a field outside of this is not for it. */
  within?: RefObject<Element | null> | undefined
}

const stack: Hearer[] = []
/** The open dialogs, the front one last: only what is in that one hears keys, whenever it was mounted. */
const dialogs: symbol[] = []
/** The dialog around a component. */
export const KeyScope = createContext<symbol | null>(null)
let prefix = ''
let prefixTimer: number | undefined

/** Time for the second key of a sequence such as `g i`, in milliseconds. */
const sequenceMs = 1_000

const fields = new Set(['INPUT', 'TEXTAREA', 'SELECT'])

/** Whether the key goes into a field: a checkbox takes no letters. The path reaches into shadow roots, where the editor is. */
function isTyping(event: KeyboardEvent): boolean {
  return event
    .composedPath()
    .some(
      (node) =>
        node instanceof HTMLElement &&
        ((fields.has(node.tagName) && !node.matches('[type=checkbox]')) || node.isContentEditable),
    )
}

/**
 * Whether the key belongs to an input method, which composes a text with it. WebKit ends the composition before the key that
 * ends it (WebKit bug 165004): that one has the code 229.
 */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229

/** The name of a key: `mod+Enter`, `j`, `?`. `mod` is Ctrl, or ⌘. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? 'mod+' : ''
  return mod + event.key
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || isComposing(event)) return
  // A key that is held would press the button again and again.
  if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLButtonElement)
    return event.preventDefault()
  const name = nameOf(event)
  const isPlain = !name.startsWith('mod+')
  const isInField = isTyping(event)
  if (isPlain && name !== 'Escape' && (isInField || !singleKeys.get())) return
  // In a field it deletes a word, or what stands before the cursor.
  if (name === 'mod+Backspace' && isInField) return
  const full = prefix ? `${prefix} ${name}` : name
  clearTimeout(prefixTimer)
  prefix = ''
  const front = dialogs.at(-1) ?? null
  const hearing = stack.filter(({ dialog }) => dialog === front)
  for (const { current, within } of hearing.toReversed()) {
    const handler = current[full]
    if (!handler) continue
    if (isInField && within && !event.composedPath().includes(within.current!)) continue
    event.preventDefault()
    // One press is one command, however long it is held: what it led to has not been read yet.
    if (event.repeat && !isPlain) return
    return handler(event)
  }
  if (
    isPlain &&
    hearing.some(({ current }) => Object.keys(current).some((key) => key.startsWith(`${full} `)))
  ) {
    prefix = full
    prefixTimer = window.setTimeout(() => (prefix = ''), sequenceMs)
  }
}

window.addEventListener('keydown', onKey)

/**
 * Answers keys while the component is on screen; what was mounted last is asked first. A sequence is `g i`. What is typed
 * into a field outside of `within` is left to others.
 */
export function useKeys(handlers: Handlers, within?: RefObject<Element | null>): void {
  const dialog = useContext(KeyScope)
  const own = useRef<Hearer>({ current: handlers, within, dialog })
  useEffect(() => {
    own.current.current = handlers
  })
  useEffect(() => {
    const hearer = own.current
    stack.push(hearer)
    return () => void stack.splice(stack.indexOf(hearer), 1)
  }, [])
}

/** The scope of an open dialog, for `KeyScope`: while it is on screen, nothing outside of it hears keys. */
export function useKeyScope(): symbol {
  const [scope] = useState(() => Symbol('dialog'))
  useEffect(() => {
    dialogs.push(scope)
    return () => void dialogs.splice(dialogs.indexOf(scope), 1)
  }, [scope])
  return scope
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
