/** Changed places: each with what stood there before and what stands there now. */
import { useState } from 'react'
import './changes.css'
import type { Change } from './diff.ts'
import { Value } from './json-view.tsx'
import { Foreign } from './text.tsx'
import { t } from '../texts/texts.tsx'

/** How many places are drawn at once. */
const atOnce = 200

export function Changes({ changes, label }: { changes: readonly Change[]; label: string }) {
  const [most, setMost] = useState(atOnce)
  const left = changes.length - most
  return (
    <>
      <ul className="changes" aria-label={label}>
        {changes.slice(0, most).map(({ path, before, after }) => (
          <li key={path}>
            <Foreign className="mono" text={path} />
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
      {left > 0 && (
        <button type="button" className="quiet" onClick={() => setMost(most + atOnce)}>
          {t('and {count} more', { count: left })}
        </button>
      )}
    </>
  )
}
