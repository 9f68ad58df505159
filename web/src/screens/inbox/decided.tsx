/** What was decided, by whom, and what became of it. */
import { Link } from 'wouter'
import { useState } from 'react'
import { usePages } from '../../api/pages.ts'
import { Badge } from '../../parts/badge.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { decidedQuery, questionTypes } from './documents.ts'

const filters = [
  { status: 'APPROVED', name: 'Approved' },
  { status: 'REJECTED', name: 'Rejected' },
  { status: 'EXPIRED', name: 'Expired' },
  { status: 'VOIDED', name: 'Void' },
] as const

export function Decided() {
  const [status, setStatus] = useState<(typeof filters)[number]['status']>('APPROVED')
  const pages = usePages(decidedQuery, { status }, (data) => data.approvals, { hears: questionTypes })
  return (
    <div className="screen-body">
      <div className="segments" role="group" aria-label="Outcome">
        {filters.map((one) => (
          <button
            key={one.status}
            type="button"
            aria-pressed={one.status === status}
            onClick={() => setStatus(one.status)}
          >
            {one.name}
          </button>
        ))}
      </div>
      {pages.error && pages.nodes.length === 0 ? (
        <Failure error={pages.error} retry={pages.reload} />
      ) : pages.isLoading ? (
        <Skeleton lines={8} />
      ) : pages.nodes.length === 0 ? (
        <Empty title="None yet">What people decided stands here, with the call that it led to.</Empty>
      ) : (
        <div className="table-scroll">
          <table className="decided">
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col">Agent</th>
                <th scope="col">By</th>
                <th scope="col">Call</th>
                <th scope="col">When</th>
              </tr>
            </thead>
            <tbody>
              {pages.nodes.map((one) => (
                <tr key={one.id}>
                  <td>
                    <Link href={`/approvals/${one.id}`}>
                      <Foreign text={one.toolName} max={80} />
                    </Link>
                  </td>
                  <td>
                    {one.agent ? (
                      <Foreign text={one.agent.name} max={60} />
                    ) : (
                      <span className="mute">direct</span>
                    )}
                  </td>
                  <td>
                    {one.votes.length === 0 && <span className="mute">nobody</span>}
                    {one.votes.map(({ by, byName }) => (
                      <Principal key={by} of={{ id: by, name: byName }} />
                    ))}
                  </td>
                  <td>{one.toolCall && <Badge status={one.toolCall.status} />}</td>
                  <td>{one.settledAt && <Ago at={one.settledAt} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          Show more
        </button>
      )}
    </div>
  )
}
