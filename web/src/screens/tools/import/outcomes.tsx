/** How the creation of each tool went: those that were refused first. */
import { Link } from 'wouter'
import { Table } from '../../../parts/table.tsx'
import { Foreign } from '../../../parts/text.tsx'
import type { CreationOutcome } from './use-creation.ts'

/** The most rows that are shown. */
const mostRows = 200

export function Outcomes({
  outcomes,
  isRunning,
}: {
  outcomes: readonly CreationOutcome[]
  isRunning: boolean
}) {
  if (outcomes.length === 0) return null
  const created = outcomes.filter(({ why }) => why === null).length
  const rows = outcomes.toSorted((a, b) => Number(a.why === null) - Number(b.why === null))
  return (
    <section className="stack" aria-label="Outcomes">
      <p role="status">
        {created} created, {outcomes.length - created} refused{isRunning ? ' so far.' : '.'}
      </p>
      <Table label="Outcomes" columns={['Tool', 'Outcome']}>
        {rows.slice(0, mostRows).map(({ name, id, why }) => (
          <tr key={name}>
            <td className="mono">{id === null ? name : <Link href={`/tools/${id}`}>{name}</Link>}</td>
            <td className={why === null ? 'tone-good' : 'tone-bad'}>
              {why === null ? 'created' : <Foreign text={why} max={400} />}
            </td>
          </tr>
        ))}
      </Table>
      {rows.length > mostRows && <p className="mute">{rows.length - mostRows} more are not shown.</p>}
    </section>
  )
}
