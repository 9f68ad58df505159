/** A form that is sent by hand: after a send that left faults, the first field with one is shown and has the focus. */
import { useEffect, useRef, useState, type ReactNode } from 'react'

interface Props {
  onSubmit(): Promise<void> | void
  className?: string
  /** What it does, for screen readers, where no title says it. */
  label?: string
  children: ReactNode
}

const wrong = ':is([aria-invalid=true],[data-invalid])'

export function Form({ onSubmit, className, label, children }: Props) {
  const form = useRef<HTMLFormElement>(null)
  const [sends, setSends] = useState(0)
  // After the faults of that send have been drawn.
  useEffect(() => {
    const field = sends === 0 ? null : form.current?.querySelector<HTMLElement>(wrong)
    if (!field) return
    const around = field.closest('details')
    if (around) around.open = true
    field.scrollIntoView({ block: 'center' })
    field.focus()
  }, [sends])
  const send = async () => {
    await onSubmit()
    setSends((before) => before + 1)
  }
  return (
    <form
      ref={form}
      className={className}
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        // The form may stand in another one, as in its dialog, which is not sent with it.
        event.stopPropagation()
        void send()
      }}
    >
      {children}
    </form>
  )
}
