/** What is paused, above every screen for as long as it is. */
import { graphql } from '../api/document.ts'
import { useQuery } from '../api/query.ts'
import { PauseNotice, pauseParts } from '../parts/paused.tsx'
import { t } from '../texts/texts.tsx'

const pausesQuery = graphql(
  `
    query Pauses($projectId: ID) {
      pauses(projectId: $projectId, active: true, first: 20) {
        nodes {
          ...PauseParts
        }
        pageInfo {
          hasNextPage
        }
      }
    }
  `,
  [pauseParts],
)

export function PausedBar() {
  const { data } = useQuery(pausesQuery, {}, { eventTypes: ['PAUSE_STARTED', 'PAUSE_ENDED'] })
  const pauses = data?.pauses.nodes ?? []
  if (pauses.length === 0) return null
  return (
    <section className="paused" aria-label={t('What is paused')}>
      <ul>
        {pauses.map((pause) => (
          <li key={pause.id}>
            <PauseNotice pause={pause} />
          </li>
        ))}
      </ul>
      {data?.pauses.pageInfo.hasNextPage && <p>{t('And more.')}</p>}
    </section>
  )
}
