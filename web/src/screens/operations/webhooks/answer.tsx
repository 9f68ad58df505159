/** What an endpoint answered to one attempt. */
import { durationText } from '../../../parts/durations.ts'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign, LongText } from '../../../parts/text.tsx'
import type { Delivery } from './documents.ts'

export function AnswerLine({ answer }: { answer: Delivery['answers'][number] }) {
  const { at, status, error, body, milliseconds } = answer
  return (
    <>
      <div className="row">
        <span className={error === null ? 'tone-good strong' : 'tone-bad strong'}>
          {status ?? 'no answer'}
        </span>
        <span>{error === null ? 'accepted' : <Foreign text={error} max={300} />}</span>
        <span className="small mute spread nowrap">
          {durationText(milliseconds)}, <Ago at={at} />
        </span>
      </div>
      {body !== null && <LongText text={body} mono />}
    </>
  )
}
