/** How many were approved, rejected, expired and void, of all that the list is narrowed to, and by tool or agent. */
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { Segments } from '../../parts/segments.tsx'
import { Failure } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Foreign } from '../../parts/text.tsx'
import { tallyQuery, type Tally } from './decided-documents.ts'
import { groupings, type inputOf } from './decided-filter.ts'
import { questionTypes } from '../../parts/question/documents.ts'
import { t, numberText } from '../../texts/texts.tsx'

interface Props {
  filter: ReturnType<typeof inputOf>
  by: 'TOOL' | 'AGENT' | null
  onNarrow(id: string): void
}

export function DecidedTally({ filter, by, onNarrow }: Props) {
  const { go } = useAddress()
  const read = useQuery(tallyQuery, { filter, by }, { eventTypes: questionTypes })
  const tally = read.data?.approvalTally
  return (
    <section aria-label={t('Numbers')}>
      <div className="row">
        <output>{tally && totalText(tally)}</output>
        <Segments
          label={t('Groups')}
          value={by}
          options={groupings.map((one) => ({ value: one.by, name: one.name }))}
          onChange={(next) => go({ group: next?.toLowerCase() ?? null })}
        />
      </div>
      {read.error !== null && !tally && <Failure error={read.error} retry={read.reload} />}
      {tally && by !== null && tally.groups.length > 0 && (
        <Groups groups={tally.groups} by={by} onNarrow={onNarrow} />
      )}
    </section>
  )
}

const words = ['approved', 'rejected', 'expired', 'voided'] as const
const wordOf = { approved: t('approved'), rejected: t('rejected'), expired: t('expired'), voided: t('void') }

/** `214 approved, 9 rejected`; counting has an end. */
function totalText({ total, isComplete }: Tally): string {
  const parts = words
    .filter((word) => word === 'approved' || word === 'rejected' || total[word] > 0)
    .map((word) => `${numberText(total[word])} ${wordOf[word]}`)
  return isComplete
    ? parts.join(', ')
    : t('More than 10,000; of 10,000 counted: {parts}', { parts: parts.join(', ') })
}

interface GroupsProps {
  groups: Tally['groups']
  by: 'TOOL' | 'AGENT'
  onNarrow(id: string): void
}

function Groups({ groups, by, onNarrow }: GroupsProps) {
  const nameOf = ({ id, toolName, agent }: Tally['groups'][number]) =>
    toolName ?? agent?.name ?? (id === null ? t('direct calls') : t('deleted agent'))
  return (
    <Table
      label={by === 'TOOL' ? t('By tool') : t('By agent')}
      columns={[
        by === 'TOOL' ? t('Tool') : t('Agent'),
        t('Approved'),
        t('Rejected'),
        t('Expired'),
        t('Void'),
      ]}
    >
      {groups.map((group) => (
        <tr key={group.id}>
          <td>
            {group.id === null ? (
              <span className="mute">{nameOf(group)}</span>
            ) : (
              <button type="button" className="quiet" onClick={() => onNarrow(group.id!)}>
                <Foreign text={nameOf(group)} max={80} />
              </button>
            )}
          </td>
          {words.map((word) => (
            <td key={word}>{numberText(group[word])}</td>
          ))}
        </tr>
      ))}
    </Table>
  )
}
