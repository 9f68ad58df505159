/** Who is on a question, and longer time for it. A claim tells others; it keeps nobody from deciding. */
import { graphql } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { Countdown } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import type { Question } from './documents.ts'

const meQuery = graphql(`
  query Me {
    viewer {
      id
    }
  }
`)

const claimMutation = graphql(
  `
    mutation Claim($input: ClaimApprovalInput!) {
      claimApproval(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

const releaseMutation = graphql(
  `
    mutation Release($input: ReleaseApprovalInput!) {
      releaseApproval(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

const extendMutation = graphql(
  `
    mutation Extend($input: ExtendApprovalInput!) {
      extendApproval(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

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

export function Claim({ question, reload }: { question: Question; reload(): void }) {
  const { id: approvalId, claim } = question
  const me = useQuery(meQuery, {}).data?.viewer.id
  const claiming = useMutation(claimMutation)
  const releasing = useMutation(releaseMutation)
  const extending = useMutation(extendMutation)
  const isBusy = claiming.isRunning || releasing.isRunning || extending.isRunning
  const tell = (result: Parameters<typeof refusalOf>[0]) => {
    const refusal = refusalOf(result)
    if (refusal) toast(refusal.message, { tone: 'bad' })
    reload()
  }
  const until = oneHourMore(question)
  return (
    <p className="row">
      {claim && (
        <span role="status">
          <Foreign text={claim.by === me ? 'You are' : `${claim.byName} is`} max={100} /> on it,{' '}
          <Countdown until={claim.until} />
        </span>
      )}
      {claim?.by === me ? (
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            void releasing.mutate({ input: { approvalId } }).then((made) => tell(made?.releaseApproval))
          }
        >
          Not any more
        </button>
      ) : (
        !claim && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() =>
              void claiming.mutate({ input: { approvalId } }).then((made) => tell(made?.claimApproval))
            }
          >
            I am on it
          </button>
        )
      )}
      {until && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() =>
            void extending.mutate({ input: { approvalId, until } }).then((made) => tell(made?.extendApproval))
          }
        >
          One hour more
        </button>
      )}
    </p>
  )
}
