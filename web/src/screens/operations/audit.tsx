/** Who did what, and what was refused. */
import { useState } from 'react'
import { graphql } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { JsonText } from '../../parts/json-view.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'

const auditQuery = graphql(`
  query Audit($projectId: ID, $after: String) {
    auditEntries(projectId: $projectId, first: 50, after: $after) {
      nodes {
        id
        action
        outcome
        principalId
        resource
        details
        createdAt
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

const tones: Record<string, string> = { ALLOWED: 'tone-good', DENIED: 'tone-bad', EXECUTED: 'tone-work' }

export function Audit() {
  const pages = usePages(auditQuery, {}, (data) => data.auditEntries)
  const [open, setOpen] = useState<string | null>(null)
  return (
    <>
      <p className="row">
        <span className="mute">Every change, refusal and execution, newest first.</span>
        <button type="button" className="spread" onClick={pages.reload}>
          Read again
        </button>
      </p>
      <Listing
        pages={pages}
        label="Audit entries"
        columns={['Action', 'Outcome', 'By', 'On', 'When', '']}
        empty={{ title: 'Nothing yet', text: 'What people and programs do stands here.' }}
        renderRow={(entry) => (
          <tr key={entry.id}>
            <td className="mono">{entry.action}</td>
            <td className={tones[entry.outcome] ?? ''}>{entry.outcome.toLowerCase()}</td>
            <td>{entry.principalId === 'system' ? 'system' : <CopyId id={entry.principalId} />}</td>
            <td>
              <span className="mono small">
                <Foreign text={entry.resource} max={80} />
              </span>
              {open === entry.id && <JsonText value={entry.details} />}
            </td>
            <td>
              <Ago at={entry.createdAt} />
            </td>
            <td className="actions">
              <button
                type="button"
                className="quiet"
                aria-expanded={open === entry.id}
                onClick={() => setOpen(open === entry.id ? null : entry.id)}
              >
                Details
              </button>
            </td>
          </tr>
        )}
      />
    </>
  )
}
