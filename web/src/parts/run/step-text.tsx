/** What a model wrote in one step, its reasoning, and what Gatehouse said to it. */
import { LongText } from '../text.tsx'
import { OmittedTools } from '../left-out.tsx'
import type { StepRow } from './run-documents.ts'
import { t } from '../../texts/texts.tsx'

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
      {text !== '' && <LongText text={text} />}
    </>
  )
}
