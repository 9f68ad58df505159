/** A field for JSON: an editor when it can be loaded, else a plain text field. */
import { useEffect, useRef, useState } from 'react'
import type { EditorPane } from './editor-pane.ts'

/** The most text that is put into the editor, in characters. */
const largest = 200_000

interface Props {
  /** The text at the beginning; later changes of it are not taken over. */
  initial: string
  label: string
  onChange(text: string): void
  /** Whether the cursor is put into it. */
  isFocused?: boolean
}

export function JsonEditor({ initial, label, onChange, isFocused = false }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [isPlain, setPlain] = useState(initial.length > largest)
  const first = useRef({ initial, label, isFocused })
  const changed = useRef(onChange)
  useEffect(() => {
    changed.current = onChange
  })
  useEffect(() => {
    if (isPlain) return
    let pane: EditorPane | null = null
    let gone = false
    import('./editor-pane.ts')
      .then(({ openEditor }) => {
        if (gone || !host.current) return
        const { initial: text, label: name, isFocused: focus } = first.current
        pane = openEditor(host.current, text, name, (next) => changed.current(next))
        if (focus) pane.focus()
      })
      .catch(() => {
        if (!gone) setPlain(true)
      })
    return () => {
      gone = true
      pane?.destroy()
    }
  }, [isPlain])
  if (!isPlain) return <div ref={host} className="editor" />
  return (
    <textarea
      className="editor mono"
      aria-label={label}
      rows={12}
      defaultValue={initial}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
