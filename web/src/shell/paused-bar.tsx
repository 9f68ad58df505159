/** What is paused, above every screen for as long as it is. */
import { Link } from 'wouter'
import { graphql, type ResultOf } from '../api/document.ts'
import { principal } from '../api/principal.ts'
import { useQuery } from '../api/query.ts'
import { Icon } from '../parts/icons.tsx'
import { Ago } from '../parts/moments.tsx'
import { ResumeButton } from '../parts/pause.tsx'
import { Principal } from '../parts/principal.tsx'
import { Foreign } from '../parts/text.tsx'

const pausesQuery = graphql(
  `
    query Pauses($projectId: ID) {
      pauses(projectId: $projectId, active: true, first: 20) {
        nodes {
          id
          kind
          targetId
          reason
          createdAt
          pausedBy {
            ...PrincipalParts
          }
          targetName
        }
        pageInfo {
          hasNextPage
        }
      }
    }
  `,
  [principal],
)
type Pause = ResultOf<typeof pausesQuery>['pauses']['nodes'][number]

export function PausedBar() {
  const { data } = useQuery(pausesQuery, {}, { eventTypes: ['PAUSE_STARTED', 'PAUSE_ENDED'] })
  const pauses = data?.pauses.nodes ?? []
  if (pauses.length === 0) return null
  return (
    <section className="paused" aria-label="What is paused">
      <ul>
        {pauses.map((pause) => (
          <li key={pause.id}>
            <Paused pause={pause} />
          </li>
        ))}
      </ul>
      {data?.pauses.pageInfo.hasNextPage && <p>And more.</p>}
    </section>
  )
}

function Paused({ pause }: { pause: Pause }) {
  const { kind, targetName, targetId, reason, createdAt, pausedBy } = pause
  const name = kind === 'PROJECT' ? 'everything' : targetName
  return (
    <>
      <p>
        <Icon name="pause" /> <strong>Paused:</strong>{' '}
        {kind === 'PROJECT' ? (
          'everything in this project'
        ) : (
          <>
            the {kind.toLowerCase()}{' '}
            <Link href={`/${kind.toLowerCase()}s/${targetId}`}>
              <Foreign text={name} max={60} />
            </Link>
          </>
        )}
        , <Ago at={createdAt} />, by <Principal of={pausedBy} />
        {reason && (
          <>
            {': '}
            <Foreign text={reason} max={200} />
          </>
        )}
      </p>
      <ResumeButton pauseId={pause.id} of={name} />
    </>
  )
}
