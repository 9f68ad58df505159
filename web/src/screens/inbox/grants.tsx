/** Verdicts that are remembered: which calls pass without a question, how often and how long. */
import { Link } from 'wouter'
import { useMutation } from '../../api/query.ts'
import type { ResultOf } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Ago, Countdown } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { grantsQuery, revokeMutation } from './documents.ts'

const scopes = {
  EXACT: 'the same arguments',
  SCHEMA: 'arguments that match a schema',
  TOOL: 'any arguments',
} as const

export function Grants() {
  const pages = usePages(grantsQuery, {}, (data) => data.grants, {
    hears: ['GRANT_CREATED', 'GRANT_REVOKED'],
  })
  const { mutate, isRunning, error } = useMutation(revokeMutation)
  const revoke = async (id: string, toolName: string) => {
    const result = await mutate({ input: { grantId: id } })
    if (result) toast(`Calls of ${toolName} are asked about again.`)
    pages.reload()
  }
  if (pages.error && pages.nodes.length === 0) return <Failure error={pages.error} retry={pages.reload} />
  if (pages.isLoading) return <Skeleton lines={6} />
  if (pages.nodes.length === 0)
    return (
      <Empty title="No grants">
        When somebody approves a call and lets later ones pass as well, that stands here until it ends.
      </Empty>
    )
  return (
    <div className="screen-body">
      {error !== null && <Failure error={error} />}
      <div className="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Covers</th>
              <th scope="col">Holder</th>
              <th scope="col">Used</th>
              <th scope="col">Ends in</th>
              <th scope="col">Given by</th>
              <th scope="col">Given</th>
              <th scope="col">
                <span className="sr-only">Revoke</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pages.nodes.map((grant) => (
              <Row
                key={grant.id}
                grant={grant}
                isRunning={isRunning}
                revoke={() => void revoke(grant.id, grant.toolName)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {pages.hasMore && (
        <button type="button" onClick={pages.showMore}>
          Show more
        </button>
      )}
    </div>
  )
}

type Grant = ResultOf<typeof grantsQuery>['grants']['nodes'][number]

function Row({ grant, isRunning, revoke }: { grant: Grant; isRunning: boolean; revoke: () => void }) {
  return (
    <tr>
      <td>
        <Foreign text={grant.toolName} max={80} />
      </td>
      <td>{scopes[grant.scope]}</td>
      <td>
        {grant.requester ? (
          <Principal of={grant.requester} />
        ) : (
          <CopyId id={grant.agentId ?? grant.threadId ?? ''} />
        )}
      </td>
      <td>
        {grant.uses} of {grant.maxUses}
      </td>
      <td>
        <Countdown until={grant.expiresAt} />
      </td>
      <td>
        <Principal of={grant.granter} />
      </td>
      <td>
        {grant.approval ? (
          <Link href={`/approvals/${grant.approval.id}`}>
            <Ago at={grant.createdAt} />
          </Link>
        ) : (
          <Ago at={grant.createdAt} />
        )}
      </td>
      <td>
        <button type="button" className="danger" disabled={isRunning} onClick={revoke}>
          Revoke
        </button>
      </td>
    </tr>
  )
}
