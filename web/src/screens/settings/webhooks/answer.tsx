/** What an endpoint answered to one attempt. */
import { durationText } from '../../../parts/durations.ts'
import { Fact } from '../../../parts/fact.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign, LongText } from '../../../parts/text.tsx'
import type { Delivery } from './documents.ts'
import { t } from '../../../texts/texts.tsx'

interface Header {
  name: string
  value: string
}

export type Answer = Delivery['answers'][number] & {
  /** Where they have been read. */
  headers?: readonly Header[] | undefined
}

export function AnswerLine({ answer }: { answer: Answer }) {
  const { at, status, error, body, milliseconds, headers = [] } = answer
  return (
    <>
      <div className="row">
        <span className={error === null ? 'tone-good strong' : 'tone-bad strong'}>
          {status ?? t('no answer')}
        </span>
        <span>{error === null ? t('accepted') : <Foreign text={error} max={300} />}</span>
        <span className="small mute spread nowrap">
          {durationText(milliseconds)}, <Ago at={at} />
        </span>
      </div>
      {body !== null && <LongText text={body} mono />}
      {headers.length > 0 && <Headers headers={headers} />}
    </>
  )
}

function Headers({ headers }: { headers: readonly Header[] }) {
  return (
    <details>
      <summary className="small">{t('Headers ({count})', { count: headers.length })}</summary>
      <dl className="hook-headers small mono">
        {headers.map(({ name, value }, at) => (
          // Headers may repeat, and never change places.
          // oxlint-disable-next-line react/no-array-index-key
          <Fact key={at} name={name}>
            <Foreign text={value} />
          </Fact>
        ))}
      </dl>
    </details>
  )
}
