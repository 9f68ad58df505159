/** What the run waits for, above everything else, with the way to it. */
import { Link } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { Run } from '../../parts/run/run-feed.ts'

/** More are told as a number. */
const most = 5

export function Waiting({ run, onChoose }: { run: Run; onChoose(callId: string): void }) {
  const { requiredAction } = run
  if (!requiredAction) return null
  const { approvals, toolCalls } = requiredAction
  const left = Math.max(0, approvals.length - most) + Math.max(0, toolCalls.length - most)
  return (
    <ul className="run-waiting" aria-label="What the run waits for">
      {approvals.slice(0, most).map(({ id, summary, toolCall }) => (
        <li key={id}>
          <Icon name="clock" />
          <span>
            Waits for a person: <Sentence of={summary} />
          </span>
          {toolCall ? (
            <button type="button" onClick={() => onChoose(toolCall.id)}>
              Decide …
            </button>
          ) : (
            <Link href={`/approvals/${id}?run=${run.id}`} className="button">
              Open the question
            </Link>
          )}
        </li>
      ))}
      {toolCalls.slice(0, most).map(({ id, name }) => (
        <li key={id}>
          <Icon name="clock" />
          <span>
            Waits for a client: <Foreign text={name} max={80} />
          </span>
          <button type="button" onClick={() => onChoose(id)}>
            Answer …
          </button>
        </li>
      ))}
      {left > 0 && <li className="mute">and {left} more</li>}
    </ul>
  )
}
