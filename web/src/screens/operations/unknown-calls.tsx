/** Calls that were sent and never answered: only a person can find out what became of them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { graphql, type ResultOf } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { ResolveCall } from '../../parts/resolve-call.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Votes } from '../../parts/votes.tsx'

const unknownQuery = graphql(`
  query UnknownCalls($projectId: ID, $after: String) {
    unknownToolCalls(projectId: $projectId, first: 50, after: $after) {
      nodes {
        id
        name
        arguments
        createdAt
        startedAt
        errorCode
        generation {
          id
        }
        approval {
          id
          status
          summary {
            parts {
              text
              isValue
            }
          }
          votes {
            verdict
            by
            byName
            via
            reason
          }
        }
        attempts {
          attempt
          startedAt
          outcome
          errorCode
          idempotencyKey
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

type Call = ResultOf<typeof unknownQuery>['unknownToolCalls']['nodes'][number]

export function UnknownCalls() {
  const pages = usePages(unknownQuery, {}, (data) => data.unknownToolCalls, {
    eventTypes: ['TOOL_CALL_UNKNOWN', 'UNKNOWN_CALL_RESOLVED'],
  })
  const [open, setOpen] = useState<Call | null>(null)
  return (
    <>
      <p className="mute">
        These calls were sent, and no answer came. They are not repeated by themselves: look at the tool, then
        say what became of them.
      </p>
      <Listing
        pages={pages}
        label="Calls with an unknown outcome"
        columns={['Tool', 'Sent', 'Why', 'Approved by', 'Run', '']}
        empty={{ title: 'No unknown calls', text: 'Every call that was sent has been answered.' }}
        renderRow={(call) => (
          <tr key={call.id}>
            <td>
              {call.approval && (
                <div>
                  <Sentence of={call.approval.summary} />
                </div>
              )}
              <span className="mono">
                <Foreign text={call.name} max={80} />
              </span>
            </td>
            <td>
              <Ago at={call.startedAt ?? call.createdAt} />
            </td>
            <td className="mono small">{call.errorCode}</td>
            <td>
              {call.approval ? (
                <>
                  <Votes votes={call.approval.votes} status={call.approval.status} />
                  <Link href={`/approvals/${call.approval.id}`} className="cell-link">
                    show the question
                  </Link>
                </>
              ) : (
                <span className="mute">no question</span>
              )}
            </td>
            <td>
              {call.generation ? (
                <Link href={`/runs/${call.generation.id}?call=${call.id}`}>show the run</Link>
              ) : (
                <span className="mute">direct call</span>
              )}
            </td>
            <td className="actions">
              <button type="button" onClick={() => setOpen(call)}>
                Resolve …
              </button>
            </td>
          </tr>
        )}
      />
      {open && (
        <ResolveCall
          call={open}
          onClose={() => {
            setOpen(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}
