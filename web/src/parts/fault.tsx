/** What is wrong, said where it is. */
import type { Issue } from '../api/outcome.ts'

interface Props {
  /** Null or empty: nothing is. */
  text: string | null | undefined
  id?: string
  className?: string
}

export function Fault({ text, id, className = 'small' }: Props) {
  if (!text) return null
  return (
    <p id={id} className={`tone-bad ${className}`} role="alert">
      {text}
    </p>
  )
}

/** Faults that no field shows, each with the part of its path that begins at `from`. */
export const Faults = ({ of, from = Infinity }: { of: readonly Issue[]; from?: number }) =>
  of.map(({ path, message }) => (
    <Fault key={`${path.join('.')} ${message}`} text={`${path.slice(from).join('.')} ${message}`.trim()} />
  ))
