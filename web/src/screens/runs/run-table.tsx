/** The table of the runs. */
import { memo } from 'react'
import { Link } from 'wouter'
import { ActionButton } from '../../parts/confirm.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Ago } from '../../parts/moments.tsx'
import { CutSentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { RunRow } from './documents.ts'
import { ModelName } from '../../parts/run/model-name.tsx'
import { isEnded } from '../../parts/run/status.ts'
import { Cost, None, Took } from './spent.tsx'
import type { RunList } from './use-run-list.ts'
import { t, plural, numberText } from '../../texts/texts.tsx'

interface Props {
  list: RunList
  chosen: string | null
  /** Those to be compared. */
  marked: readonly string[]
  onMark(id: string): void
  onCancel(id: string): void
}

const columns = [
  { name: t('Status') },
  { name: t('Agent') },
  { name: t('Waits for, or answered'), className: 'runs-wide' },
  { name: t('Model'), className: 'runs-wide runs-wider' },
  { name: t('Steps'), className: 'number runs-wide runs-wider' },
  { name: t('Tokens, cost'), className: 'number runs-wide' },
  { name: t('Duration'), className: 'number runs-wide' },
  { name: t('Age'), className: 'number runs-age' },
]

export function RunTable({ list, chosen, marked, onMark, onCancel }: Props) {
  return (
    <table className="runs">
      <caption className="sr-only">{t('Runs, the newest first')}</caption>
      <thead>
        <tr>
          {columns.map(({ name, className }) => (
            <th key={name} scope="col" className={className}>
              {name}
            </th>
          ))}
          <th scope="col" className="runs-wide">
            <span className="sr-only">{t('Actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {list.ids.map((id) => {
          const run = list.rows.get(id)
          return (
            run && (
              <Row
                key={id}
                run={run}
                isChosen={id === chosen}
                isMarked={marked.includes(id)}
                onMark={onMark}
                onCancel={onCancel}
              />
            )
          )
        })}
      </tbody>
    </table>
  )
}

interface RowProps {
  run: RunRow
  isChosen: boolean
  isMarked: boolean
  onMark(id: string): void
  onCancel(id: string): void
}

const Row = memo(function Row({ run, isChosen, isMarked, onMark, onCancel }: RowProps) {
  const {
    id,
    status,
    agent,
    model,
    stepCount,
    failedCallCount,
    totalUsage,
    totalCost,
    createdAt,
    depth,
    inputLine,
  } = run
  return (
    <tr data-chosen={isChosen || undefined}>
      <td>
        <span className="runs-status">
          <label className="mark-box">
            <input
              type="checkbox"
              aria-label={t('Select {summary}', { summary: `${agent?.name ?? id} ${inputLine ?? ''}` })}
              checked={isMarked}
              onChange={() => onMark(id)}
            />
          </label>
          <Badge status={status} />
        </span>
        {failedCallCount > 0 && (
          <div className="small tone-bad">
            {plural(failedCallCount, '1 call failed', '{count} calls failed')}
          </div>
        )}
      </td>
      <td className="runs-agent">
        <Link href={`/runs/${id}`} className="row-link">
          {agent ? <Foreign text={agent.name} max={60} /> : t('deleted agent')}
        </Link>
        {depth > 0 && <span className="small mute runs-child"> {t('child run')}</span>}
        {inputLine !== null && (
          <div className="small mute cut">
            <Foreign text={inputLine} max={200} />
          </div>
        )}
      </td>
      <td className="runs-wide runs-cut">
        <WaitsFor run={run} />
      </td>
      <td className="runs-wide runs-wider runs-cut runs-model">
        {model ? <ModelName model={model} /> : <None />}
      </td>
      <td className="number runs-wide runs-wider">{stepCount}</td>
      <td className="number runs-wide">
        {numberText(totalUsage.totalTokens)}
        <div className="small mute">
          <Cost of={totalCost} />
        </div>
      </td>
      <td className="number runs-wide">
        <Took run={run} />
      </td>
      <td className="number runs-age">
        <Ago at={createdAt} />
      </td>
      <td className="runs-wide runs-actions">
        {!isEnded(status) && (
          <ActionButton needs="generations:Cancel" className="quiet" onClick={() => onCancel(id)}>
            {t('Cancel')}
          </ActionButton>
        )}
      </td>
    </tr>
  )
})

/** What the run waits for; why it failed where it did, or what it answered. */
function WaitsFor({ run: { requiredAction, error, outputLine } }: { run: RunRow }) {
  if (error) return <span className="mono tone-bad">{error.code}</span>
  if (!requiredAction) return outputLine === null ? <None /> : <Foreign text={outputLine} max={200} />
  const { approvals, toolCalls } = requiredAction
  const count = approvals.length + toolCalls.length
  if (count === 0) return <None />
  return (
    <>
      {approvals[0] ? (
        <CutSentence of={approvals[0].summary} />
      ) : (
        <Foreign text={toolCalls[0]!.name} max={60} />
      )}
      {count > 1 && <span className="mute"> {t('and {count} more', { count: count - 1 })}</span>}
    </>
  )
}
