/** What a draft of a gate would have done with recorded calls. */
import { writeJson } from '../../../../src/core/exact-json.ts'
import { Foreign } from '../../parts/text.tsx'
import { Ago } from '../../parts/moments.tsx'
import type { Preview } from './gate-documents.ts'
import { previewText } from './preview-text.ts'
import { t } from '../../texts/texts.tsx'

export function GatePreviewView({ preview, isRunning }: { preview: Preview | null; isRunning: boolean }) {
  if (!preview)
    return (
      <p className="mute small" role="status">
        {isRunning ? t('Checking the recorded calls …') : t('Preview a gate before you save it.')}
      </p>
    )
  return (
    <section className="gate-preview" aria-label={t('Preview')} role="status">
      <p className="strong">{previewText(preview)}</p>
      <CallList title={t('Newly stopped')} calls={preview.newlyStoppedCalls} />
      <CallList title={t('No longer stopped')} calls={preview.newlyPassingCalls} />
    </section>
  )
}

function CallList({ title, calls }: { title: string; calls: Preview['newlyStoppedCalls'] }) {
  if (calls.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <ul aria-label={title}>
        {calls.map((call) => (
          <li key={call.id}>
            <Foreign className="mono small cut" text={writeJson(call.arguments)} max={200} />
            <span className="small mute nowrap">
              <Ago at={call.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
