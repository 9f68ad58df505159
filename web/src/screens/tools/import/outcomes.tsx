/** How the creation of each tool went: those that were refused first. */
import { Link } from 'wouter'
import { Table } from '../../../parts/table.tsx'
import { Foreign } from '../../../parts/text.tsx'
import type { CreationOutcome } from './use-creation.ts'
import { t } from '../../../texts/texts.tsx'

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
    <section className="stack" aria-label={t('Outcomes')}>
      <p role="status">
        {t(
          isRunning
            ? '{created} created, {refused} refused so far.'
            : '{created} created, {refused} refused.',
          {
            created,
            refused: outcomes.length - created,
          },
        )}
      </p>
      <Table label={t('Outcomes')} columns={[t('Tool'), t('Outcome')]}>
        {rows.slice(0, mostRows).map(({ name, id, why }) => (
          <tr key={name}>
            <td className="mono">{id === null ? name : <Link href={`/tools/${id}`}>{name}</Link>}</td>
            <td className={why === null ? 'tone-good' : 'tone-bad'}>
              {why === null ? t('created') : <Foreign text={why} max={400} />}
            </td>
          </tr>
        ))}
      </Table>
      {rows.length > mostRows && (
        <p className="mute">{t('{count} more are not shown.', { count: rows.length - mostRows })}</p>
      )}
    </section>
  )
}
