/** What ran in a stretch of time: how runs ended, how long people took, which tools failed, and tokens. */
import './statistics.css'
import { useMemo } from 'react'
import { serverNow } from '../../../api/clock.ts'
import { graphql, type ResultOf } from '../../../api/document.ts'
import { useQuery } from '../../../api/query.ts'
import { useAddress } from '../../../parts/address.ts'
import { durationText } from '../../../parts/durations.ts'
import { Segments } from '../../../parts/segments.tsx'
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { Chart } from './chart.tsx'
import { beginOf, runKinds, runsOf, shareText, stretches, sumOf, type Bucket, type Stretch } from './sums.ts'

const statisticsQuery = graphql(`
  query Statistics($projectId: ID, $from: DateTime, $bucket: StatisticsBucketSize) {
    statistics(projectId: $projectId, from: $from, bucket: $bucket) {
      complete
      verdictP50
      verdictP90
      buckets {
        start
        completed
        failed
        expired
        cancelled
        open
        inputTokens
        outputTokens
        approvals
        approvalsExpired
        verdictP50
        verdictP90
      }
      tools {
        name
        calls
        errors
        unknown
      }
    }
  }
`)
type Figures = ResultOf<typeof statisticsQuery>['statistics']

export function Statistics() {
  const { params, go } = useAddress()
  const stretch = stretches.find(({ key }) => key === params.get('range')) ?? stretches[0]
  const from = useMemo(() => beginOf(stretch, serverNow()), [stretch])
  const { data, error, reload } = useQuery(statisticsQuery, { from, bucket: stretch.bucket })
  return (
    <>
      <div className="row">
        <Segments
          label="Time"
          value={stretch}
          options={stretches.map((value) => ({ value, name: value.name }))}
          onChange={(one) => go({ range: one === stretches[0] ? null : one.key })}
        />
        <button type="button" className="spread" onClick={reload}>
          Refresh
        </button>
      </div>
      {error !== null && <Failure error={error} retry={reload} />}
      {data ? (
        <Shown figures={data.statistics} stretch={stretch} />
      ) : (
        error === null && <Skeleton lines={8} />
      )}
    </>
  )
}

const number = (value: number) => value.toLocaleString('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact' })
const seconds = (value: number | null) => (value === null ? 'none' : durationText(value * 1000))

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

function Shown({ figures, stretch }: { figures: Figures; stretch: Stretch }) {
  const { buckets, tools, complete } = figures
  const runs = buckets.reduce((sum, bucket) => sum + runsOf(bucket), 0)
  if (runs === 0 && sumOf(buckets, 'approvals') === 0 && tools.length === 0)
    return <Empty title="Nothing ran in this time">Runs, verdicts and calls are counted here.</Empty>
  const format = stretch.bucket === 'HOUR' ? hour : day
  const named = buckets.map((bucket) => ({ ...bucket, label: format.format(new Date(bucket.start)) }))
  const of = (field: keyof Bucket) => buckets.map((bucket) => Number(bucket[field] ?? 0))
  return (
    <>
      {!complete && (
        <p className="notice-line">
          There is more than is counted here: the oldest part of this time is missing.
        </p>
      )}
      <Sums figures={figures} runs={runs} />
      <div className="charts">
        <Chart
          title="Runs"
          buckets={named}
          series={runKinds.map((kind) => ({ name: kind, look: `chart-${kind}`, values: of(kind) }))}
          textOf={number}
        />
        <Chart
          title="Tokens"
          buckets={named}
          series={[
            { name: 'read', look: 'chart-read', values: of('inputTokens') },
            { name: 'written', look: 'chart-written', values: of('outputTokens') },
          ]}
          textOf={(value) => compact.format(value)}
        />
        <Chart
          title="Time to a verdict"
          buckets={named}
          series={[
            { name: 'nine of ten within', look: 'chart-most', values: of('verdictP90') },
            { name: 'half within', look: 'chart-half', values: of('verdictP50') },
          ]}
          textOf={(value) => (value === 0 ? 'none' : durationText(value * 1000))}
          isNested
        />
        <Tools tools={tools} />
      </div>
      <Table buckets={named} />
    </>
  )
}

function Sums({ figures: { buckets, verdictP50, verdictP90 }, runs }: { figures: Figures; runs: number }) {
  const asked = sumOf(buckets, 'approvals')
  const facts: [string, string][] = [
    ['Runs', number(runs)],
    ['Completed', shareText(sumOf(buckets, 'completed'), runs)],
    ['Failed', shareText(sumOf(buckets, 'failed'), runs)],
    ['Tokens', number(sumOf(buckets, 'inputTokens') + sumOf(buckets, 'outputTokens'))],
    ['Questions', number(asked)],
    ['Expired questions', shareText(sumOf(buckets, 'approvalsExpired'), asked)],
    ['Median time to verdict', seconds(verdictP50)],
    ['90th percentile', seconds(verdictP90)],
  ]
  return (
    <dl className="facts statistics-sums">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The tools that failed most. */
function Tools({ tools }: { tools: Figures['tools'] }) {
  return (
    <section className="chart" aria-label="Tools that failed">
      <h3>Tools that failed</h3>
      {tools.length === 0 ? (
        <p className="mute">No tool was called.</p>
      ) : (
        <div className="statistics-tools" tabIndex={0} role="region" aria-label="Errors by tool">
          <table>
            <thead>
              <tr>
                <th scope="col">Tool</th>
                {['Calls', 'Failed', 'Unknown', 'Share'].map((name) => (
                  <th key={name} scope="col" className="statistics-number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {tools.map(({ name, calls, errors, unknown }) => (
                <tr key={name}>
                  <td className="mono small">
                    <Foreign text={name} max={64} />
                  </td>
                  <td className="statistics-number">{number(calls)}</td>
                  <td className="statistics-number">{number(errors)}</td>
                  <td className="statistics-number">{number(unknown)}</td>
                  <td className="statistics-number">{shareText(errors + unknown, calls)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

const columns = [
  ...runKinds.map((kind) => ({ name: kind, textOf: (one: Bucket) => number(one[kind]) })),
  { name: 'tokens read', textOf: (one: Bucket) => number(one.inputTokens) },
  { name: 'tokens written', textOf: (one: Bucket) => number(one.outputTokens) },
  { name: 'questions', textOf: (one: Bucket) => number(one.approvals) },
  { name: 'expired questions', textOf: (one: Bucket) => number(one.approvalsExpired) },
  { name: 'half within', textOf: (one: Bucket) => seconds(one.verdictP50) },
  { name: 'nine of ten within', textOf: (one: Bucket) => seconds(one.verdictP90) },
]

/** Every figure of the charts, the newest first. */
function Table({ buckets }: { buckets: readonly (Bucket & { label: string })[] }) {
  return (
    <section className="table-scroll statistics-table" aria-label="The figures as a table" tabIndex={0}>
      <table>
        <caption className="sr-only">The figures of the charts, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">from</th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="statistics-number">
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
                <td key={name} className="statistics-number">
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
