/** What a call returned. */
import { Content } from '../../parts/content.tsx'
import type { Call } from './call-documents.ts'

export function Result({ call }: { call: Call }) {
  const { content, structuredContent, isError, errorCode, settledAt } = call
  const isEmpty =
    structuredContent === null && (content === null || (Array.isArray(content) && content.length === 0))
  if (isEmpty && settledAt === null) return null
  return (
    <section aria-label="Result">
      <h3>
        {isError && !isEmpty ? 'Error' : 'Result'}{' '}
        {errorCode !== null && <span className="mono">{errorCode}</span>}
      </h3>
      {isEmpty ? (
        <p className="mute">It returned nothing.</p>
      ) : (
        <div className={isError ? 'run-result-failed' : undefined}>
          <Content content={content} structured={structuredContent} />
        </div>
      )}
    </section>
  )
}
