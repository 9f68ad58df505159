/** How the runs ended that the list is narrowed to: of all of them, by agent or by outcome. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { Segments } from '../../parts/segments.tsx'
import { Failure } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Foreign } from '../../parts/text.tsx'
import { runTypes } from './documents.ts'
import { runGroupings, type RunFilter, type RunStatus } from './rows.ts'
import type { filterInput } from './use-run-list.ts'
import { t, numberText } from '../../texts/texts.tsx'

const tallyQuery = graphql(`
  query RunTally($projectId: ID, $filter: GenerationFilter) {
    generationTally(projectId: $projectId, filter: $filter) {
      isComplete
      total {
        completed
        failed
        cancelled
        expired
        open
      }
      groups {
        id
        agent {
          name
        }
        completed
        failed
        cancelled
        expired
        open
      }
    }
  }
`)
type Tally = ResultOf<typeof tallyQuery>['generationTally']

const outcomes = ['completed', 'failed', 'cancelled', 'expired', 'open'] as const

/** The statuses of an outcome. */
const statusesOf: Record<(typeof outcomes)[number], readonly RunStatus[]> = {
  completed: ['COMPLETED'],
  failed: ['FAILED'],
  cancelled: ['CANCELLED'],
  expired: ['EXPIRED'],
  open: ['QUEUED', 'RUNNING', 'AWAITING_APPROVAL', 'REQUIRES_ACTION'],
}

const words: Record<(typeof outcomes)[number], string> = {
  completed: t('completed'),
  failed: t('failed'),
  cancelled: t('cancelled'),
  expired: t('expired'),
  open: t('open'),
}

interface Props {
  filter: RunFilter
  /** The same, as the API takes it. */
  input: ReturnType<typeof filterInput>
  /** Whether anything is counted: the plain list is not. */
  isCounted: boolean
  onChange(filter: RunFilter): void
}

export function RunTally({ filter, input, isCounted, onChange }: Props) {
  const { data, error, reload } = useQuery(
    tallyQuery,
    { filter: input },
    { eventTypes: runTypes, skip: !isCounted },
  )
  const tally = isCounted ? data?.generationTally : undefined
  return (
    <section className="run-tally" aria-label={t('Numbers')}>
      <div className="row">
        <Segments
          label={t('Groups')}
          value={filter.by}
          options={runGroupings.map(({ by, name }) => ({ value: by, name }))}
          onChange={(by) => onChange({ ...filter, by })}
        />
        <output className="mute">{tally && totalText(tally)}</output>
      </div>
      {error !== null && !tally && <Failure error={error} retry={reload} />}
      {tally && filter.by === 'agent' && tally.groups.length > 0 && (
        <Agents tally={tally} onNarrow={(agentId) => onChange({ ...filter, agentId })} />
      )}
      {tally && filter.by === 'outcome' && (
        <Outcomes
          tally={tally}
          onNarrow={(outcome) => onChange({ ...filter, statuses: statusesOf[outcome] })}
        />
      )}
    </section>
  )
}

/** `214 completed, 9 failed`; counting has an end. */
function totalText({ total, isComplete }: Tally): string {
  const parts = outcomes
    .filter((one) => one === 'completed' || one === 'failed' || total[one] > 0)
    .map((one) => `${numberText(total[one])} ${words[one]}`)
  return isComplete
    ? parts.join(', ')
    : t('More than 10,000; of 10,000 counted: {parts}', { parts: parts.join(', ') })
}

function Agents({ tally: { groups }, onNarrow }: { tally: Tally; onNarrow(agentId: string): void }) {
  return (
    <Table
      label={t('By agent')}
      columns={[t('Agent'), t('Completed'), t('Failed'), t('Cancelled'), t('Expired'), t('Open|runs')]}
    >
      {groups.map(({ id, agent, ...numbers }) => (
        <tr key={id}>
          <td>
            <button type="button" className="quiet" onClick={() => id && onNarrow(id)}>
              {agent ? <Foreign text={agent.name} max={80} /> : t('deleted agent')}
            </button>
          </td>
          {outcomes.map((one) => (
            <td key={one}>{numberText(numbers[one])}</td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

interface OutcomesProps {
  tally: Tally
  onNarrow(outcome: (typeof outcomes)[number]): void
}

function Outcomes({ tally: { total }, onNarrow }: OutcomesProps) {
  const some = outcomes.filter((one) => total[one] > 0)
  if (some.length === 0) return null
  return (
    <Table label={t('By outcome')} columns={[t('Outcome'), t('Runs')]}>
      {some.map((one) => (
        <tr key={one}>
          <td>
            <button type="button" className="quiet" onClick={() => onNarrow(one)}>
              {words[one]}
            </button>
          </td>
          <td>{numberText(total[one])}</td>
        </tr>
      ))}
    </Table>
  )
}
