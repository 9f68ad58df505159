/** What a model wrote in one step, its reasoning, and what Gatehouse said to it. */
import { lazy, Suspense } from 'react'
import { Boundary } from '../states.tsx'
import { LongText } from '../text.tsx'
import { OmittedTools } from '../left-out.tsx'
import type { StepRow } from './run-documents.ts'
import { t } from '../../texts/texts.tsx'

const Markdown = lazy(() => import('../markdown.tsx'))

/** More text is not marked up: it is folded, and shown as it is. In characters. */
const mostMarkedUp = 10_000

/** What a model or a user wrote: as Markdown, and as it is until that is loaded, where it cannot be, and where it is long. */
export function Prose({ text }: { text: string }) {
  const plain = <LongText text={text} />
  if (text.length > mostMarkedUp) return plain
  return (
    <Boundary renderFallback={() => plain}>
      <Suspense fallback={plain}>
        <Markdown text={text} />
      </Suspense>
    </Boundary>
  )
}

export function StepText({ step: { text, reasoning, notice, elided, leftOut } }: { step: StepRow }) {
  return (
    <>
      {notice !== null && (
        <div className="run-note">
          <p className="small mute">{t('Gatehouse told the model')}</p>
          <LongText text={notice} />
        </div>
      )}
      {elided !== null && (
        <p className="run-note">
          {t('The model did not get the whole history: {parts} left out.', {
            parts: Object.entries(elided)
              .map(([what, count]) => `${String(count)} ${what}`)
              .join(', '),
          })}
        </p>
      )}
      {leftOut.length > 0 && (
        <div className="run-note">
          <p>{t('The model did not get these tools:')}</p>
          <OmittedTools tools={leftOut} />
        </div>
      )}
      {reasoning !== '' && (
        <details className="run-reasoning">
          <summary>{t('Reasoning')}</summary>
          <LongText text={reasoning} />
        </details>
      )}
      {text !== '' && <Prose text={text} />}
    </>
  )
}
