/** Who is on a question, and longer time for it. A claim tells others; it keeps nobody from deciding. */
import { command } from '../../api/command.ts'
import { Countdown } from '../moments.tsx'
import { Foreign } from '../text.tsx'
import type { Question } from './documents.ts'
import { useViewer } from '../../api/viewer.ts'
import { useAction } from '../use-action.ts'
import { t, T } from '../../texts/texts.tsx'

const claimMutation = command('claimApproval')

const releaseMutation = command('releaseApproval')

const extendMutation = command('extendApproval')

const hourMs = 3_600_000

/** One hour more than now, as far as the question allows; null when it allows no later deadline. */
export function oneHourMore({
  expiresAt,
  extendableUntil,
}: Pick<Question, 'expiresAt' | 'extendableUntil'>): string | null {
  const latest = Date.parse(extendableUntil)
  const until = Math.min(Date.parse(expiresAt) + hourMs, latest)
  return until > Date.parse(expiresAt) ? new Date(until).toISOString() : null
}

/** Who says to be on it. */
export function ClaimState({ question: { claim } }: { question: Question }) {
  const me = useViewer()?.id
  if (!claim) return null
  return (
    <span role="status">
      {claim.by === me ? (
        <T text="You are on it, {time}" time={<Countdown until={claim.until} />} />
      ) : (
        <T
          text="{who} is on it, {time}"
          who={<Foreign text={claim.byName} max={100} />}
          time={<Countdown until={claim.until} />}
        />
      )}
    </span>
  )
}

export function ClaimActions({ question, reload }: { question: Question; reload(): void }) {
  const { id: approvalId, claim } = question
  const me = useViewer()?.id
  const claiming = useAction(claimMutation)
  const releasing = useAction(releaseMutation)
  const extending = useAction(extendMutation)
  const isBusy = claiming.isRunning || releasing.isRunning || extending.isRunning
  const until = oneHourMore(question)
  return (
    <p className="row">
      {claim?.by === me ? (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void releasing.act({ input: { approvalId } }).then(reload)}
        >
          {t('Release')}
        </button>
      ) : (
        !claim && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void claiming.act({ input: { approvalId } }).then(reload)}
          >
            {t('I am on it')}
          </button>
        )
      )}
      {until && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void extending.act({ input: { approvalId, until } }).then(reload)}
        >
          {t('One more hour')}
        </button>
      )}
    </p>
  )
}
