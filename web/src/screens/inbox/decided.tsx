/** What was decided, by whom, and what became of it. */
import { Link } from 'wouter'
import { useState } from 'react'
import { usePages } from '../../api/pages.ts'
import { Badge } from '../../parts/badge.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { decidedQuery, questionTypes } from './documents.ts'
import { Listing } from '../../parts/listing.tsx'
import { Segments } from '../../parts/segments.tsx'

const filters = [
  { value: 'APPROVED', name: 'Approved' },
  { value: 'REJECTED', name: 'Rejected' },
  { value: 'EXPIRED', name: 'Expired' },
  { value: 'VOIDED', name: 'Void' },
] as const

export function Decided() {
  const [status, setStatus] = useState<(typeof filters)[number]['value']>('APPROVED')
  const pages = usePages(decidedQuery, { status }, (data) => data.approvals, { eventTypes: questionTypes })
  return (
    <div className="screen-body">
      <Segments label="Outcome" value={status} options={filters} onChange={setStatus} />
      <Listing
        pages={pages}
        label="Decided"
        columns={['Tool', 'Agent', 'By', 'Call', 'When']}
        empty={{ title: 'None yet', text: 'What people decided stands here, with the call that it led to.' }}
        renderRow={(one) => (
          <tr key={one.id}>
            <td>
              <Link href={`/approvals/${one.id}`}>
                <Foreign text={one.toolName} max={80} />
              </Link>
            </td>
            <td>
              {one.agent ? <Foreign text={one.agent.name} max={60} /> : <span className="mute">direct</span>}
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
        )}
      />
    </div>
  )
}
