/** Changed places: each with what stood there before and what stands there now. */
import './changes.css'
import type { Change } from './diff.ts'
import { Value } from './json-view.tsx'
import { Foreign } from './text.tsx'

export function Changes({ changes, label }: { changes: readonly Change[]; label: string }) {
  return (
    <ul className="changes" aria-label={label}>
      {changes.map(({ path, before, after }) => (
        <li key={path}>
          <span className="mono">
            <Foreign text={path} max={200} />
          </span>
          <del>
            <Value value={before} />
          </del>
          <span aria-hidden="true">→</span>
          <ins>
            <Value value={after} />
          </ins>
        </li>
      ))}
    </ul>
  )
}
