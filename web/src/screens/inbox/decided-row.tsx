/** One decided question in the list. Its first link opens it, wherever the row is pressed. */
import { Link } from 'wouter'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { Changes } from '../../parts/changes.tsx'
import { changesBetween } from '../../parts/diff.ts'
import { Ago } from '../../parts/moments.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { Votes } from '../../parts/votes.tsx'
import type { DecidedRow } from './decided-documents.ts'
import { t } from '../../texts/texts.tsx'

/** How many changed places are listed in a row. */
const mostChanges = 3

export function DecidedTableRow({ row }: { row: DecidedRow }) {
  const { id, status, voidReason, toolName, summary, votes, agent, settledAt } = row
  return (
    <tr className="linked-row">
      <td>
        <Link href={`/approvals/${id}`} className="row-link">
          <Sentence of={summary} />
        </Link>
        <div className="small mute cut">
          <Foreign text={toolName} max={80} />
        </div>
      </td>
      <td>
        <Badge status={status} />
        {voidReason !== null && <div className="small mute">{wordsOf(voidReason)}</div>}
      </td>
      <td>
        {votes.length === 0 ? (
          <span className="mute">{t('nobody')}</span>
        ) : (
          <Votes votes={votes} status={status} />
        )}
      </td>
      <td className="decided-changes">
        <Edit row={row} />
      </td>
      <td>{agent ? <Foreign text={agent.name} max={60} /> : <span className="mute">{t('direct')}</span>}</td>
      <td>
        <Run row={row} />
      </td>
      <td>{row.toolCall && <Badge status={row.toolCall.status} />}</td>
      <td>{settledAt !== null && <Ago at={settledAt} />}</td>
    </tr>
  )
}

function Run({ row: { generation, toolCall } }: { row: DecidedRow }) {
  if (!generation) return <span className="mute">{t('none')}</span>
  const call = toolCall ? `?call=${toolCall.id}` : ''
  return <Link href={`/runs/${generation.id}${call}`}>{t('open the run')}</Link>
}

function Edit({ row: { originalArguments, arguments: current } }: { row: DecidedRow }) {
  const changes = changesBetween(originalArguments, current)
  if (changes.length === 0) return <span className="mute">{t('nothing')}</span>
  return (
    <>
      <Changes label={t('Changed arguments')} changes={changes.slice(0, mostChanges)} />
      {changes.length > mostChanges && (
        <p className="small mute">{t('and {count} more', { count: changes.length - mostChanges })}</p>
      )}
    </>
  )
}
