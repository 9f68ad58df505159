/** What a call returned. */
import { Content } from '../content.tsx'
import type { Call } from './call-documents.ts'
import { t } from '../../texts/texts.tsx'

const isEmpty = ({ structuredContent, content }: Call) =>
  structuredContent === null && (content === null || (Array.isArray(content) && content.length === 0))

export function Result({ call }: { call: Call }) {
  const { isError, errorCode, settledAt } = call
  if (isEmpty(call) && settledAt === null) return null
  return (
    <section aria-label={t('Result')}>
      <h3>
        {isError && !isEmpty(call) ? t('Error') : t('Result')}{' '}
        {errorCode !== null && <span className="mono">{errorCode}</span>}
      </h3>
      <ResultContent call={call} />
    </section>
  )
}

/** The same without its heading. */
export function ResultContent({ call }: { call: Call }) {
  if (isEmpty(call)) return <p className="mute">{t('It returned nothing.')}</p>
  return (
    <div className={call.isError ? 'run-result-failed' : undefined}>
      <Content content={call.content} structured={call.structuredContent} />
    </div>
  )
}
