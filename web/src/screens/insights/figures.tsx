/** Figures as tables: the tools, and every bucket. */
import { durationText } from '../../parts/durations.ts'
import { Foreign } from '../../parts/text.tsx'
import { FigureTable } from './figure-table.tsx'
import { costText, runKinds, runWords, secondsText, shareText, type Bucket } from './sums.ts'
import { t, numberText } from '../../texts/texts.tsx'

interface ToolFigures {
  name: string
  calls: number
  errors: number
  unknown: number
  seconds: number
  cost: number
  unpricedTokens: number
}

const toolColumns = [
  t('Tool'),
  { number: t('Calls') },
  { number: t('Failed') },
  { number: t('Unknown') },
  { number: t('Share') },
  { number: t('Time') },
  { number: t('Cost') },
]

/** The tools, those that failed most first. */
export function ToolsTable({ tools }: { tools: readonly ToolFigures[] }) {
  return (
    <section className="chart" aria-label={t('Tools')}>
      <h3>{t('Tools, those that failed most first')}</h3>
      {tools.length === 0 ? (
        <p className="mute">{t('No tool was called.')}</p>
      ) : (
        <>
          <FigureTable label={t('Calls by tool')} columns={toolColumns}>
            {tools.map(({ name, calls, errors, unknown, seconds, cost, unpricedTokens }) => (
              <tr key={name}>
                <td className="mono small">
                  <Foreign text={name} max={64} />
                </td>
                <td className="number">{numberText(calls)}</td>
                <td className="number">{numberText(errors)}</td>
                <td className="number">{numberText(unknown)}</td>
                <td className="number">{shareText(errors + unknown, calls)}</td>
                <td className="number">{durationText(seconds * 1000)}</td>
                <td className="number">{costText(cost, unpricedTokens)}</td>
              </tr>
            ))}
          </FigureTable>
          <p className="small mute">
            {t(
              'Time is that of all calls together. Cost is that of the model’s answers that asked for the calls; the calls of one answer share it equally.',
            )}
          </p>
        </>
      )}
    </section>
  )
}

const columns = [
  ...runKinds.map((kind) => ({ name: runWords[kind], textOf: (one: Bucket) => numberText(one[kind]) })),
  { name: t('input tokens'), textOf: (one: Bucket) => numberText(one.inputTokens) },
  { name: t('output tokens'), textOf: (one: Bucket) => numberText(one.outputTokens) },
  { name: t('cost'), textOf: (one: Bucket) => costText(one.cost, one.unpricedTokens) },
  { name: t('approval requests'), textOf: (one: Bucket) => numberText(one.approvals) },
  { name: t('expired requests'), textOf: (one: Bucket) => numberText(one.approvalsExpired) },
  { name: t('p50 to decision'), textOf: (one: Bucket) => secondsText(one.verdictP50) },
  { name: t('p90 to decision'), textOf: (one: Bucket) => secondsText(one.verdictP90) },
]

/** Every figure of the charts, the newest first. */
export function BucketTable({ buckets }: { buckets: readonly (Bucket & { label: string })[] }) {
  return (
    <section className="table-scroll insights-table" aria-label={t('The figures as a table')} tabIndex={0}>
      <table>
        <caption className="sr-only">{t('The figures of the charts, the newest first')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('from')}</th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.toReversed().map((bucket) => (
            <tr key={bucket.start}>
              <th scope="row">
                <time dateTime={bucket.start}>{bucket.label}</time>
              </th>
              {columns.map(({ name, textOf }) => (
                <td key={name} className="number">
                  {textOf(bucket)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
