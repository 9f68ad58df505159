/** What ran in a stretch of time: how runs ended, what they cost, how long people took, and which tools failed. */
import './statistics.css'
import { useMemo } from 'react'
import { serverNow } from '../../../api/clock.ts'
import { graphql, type ResultOf } from '../../../api/document.ts'
import { useQuery } from '../../../api/query.ts'
import { useAddress } from '../../../parts/address.ts'
import { durationText } from '../../../parts/durations.ts'
import { moneyText } from '../../../parts/money.ts'
import { Segments } from '../../../parts/segments.tsx'
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx'
import { Chart } from './chart.tsx'
import { BucketTable, ToolsTable } from './figures.tsx'
import { SpendingTable } from './spending.tsx'
import {
  beginOf,
  costText,
  finishedOf,
  isBusy,
  runKinds,
  runWords,
  runsOf,
  secondsText,
  shareText,
  stretches,
  sumOf,
  type Bucket,
  type Stretch,
} from './sums.ts'
import { t, numberText, locale } from '../../../texts/texts.tsx'

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
        cost
        unpricedTokens
        approvals
        approvalsExpired
        verdictP50
        verdictP90
      }
      cost
      unpricedTokens
      spending {
        agentId
        agent {
          name
        }
        model
        runs
        inputTokens
        outputTokens
        cost
        price {
          input
          cachedInput
          output
          listedAt
        }
      }
      tools {
        name
        calls
        errors
        unknown
        seconds
        cost
        unpricedTokens
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
          label={t('Time')}
          value={stretch}
          options={stretches.map((value) => ({ value, name: value.name }))}
          onChange={(one) => go({ range: one === stretches[0] ? null : one.key })}
        />
        <button type="button" className="spread" onClick={reload}>
          {t('Refresh')}
        </button>
      </div>
      {error !== null && <Failure error={error} retry={reload} />}
      {data ? (
        <Shown figures={data.statistics} stretch={stretch} reload={reload} />
      ) : (
        error === null && <Skeleton lines={8} />
      )}
    </>
  )
}

const compact = new Intl.NumberFormat(locale, { notation: 'compact' })

const hour = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })

interface ShownProps {
  figures: Figures
  stretch: Stretch
  reload(): void
}

function Shown({ figures, stretch, reload }: ShownProps) {
  const { buckets, tools, complete, spending } = figures
  const runs = buckets.reduce((sum, bucket) => sum + runsOf(bucket), 0)
  if (runs === 0 && sumOf(buckets, 'approvals') === 0 && tools.length === 0)
    return (
      <Empty title={t('Nothing ran in this period')}>
        {t('Runs, decisions and calls are counted here.')}
      </Empty>
    )
  const format = stretch.bucket === 'HOUR' ? hour : day
  const named = buckets.map((bucket) => ({ ...bucket, label: format.format(new Date(bucket.start)) }))
  const of = (field: keyof Bucket) => buckets.map((bucket) => Number(bucket[field] ?? 0))
  return (
    <>
      {!complete && (
        <p className="notice-line">
          {t('There is more than is counted here: the oldest part of this time is missing.')}
        </p>
      )}
      <Sums figures={figures} runs={runs} />
      <div className="charts">
        <Chart
          title={t('Runs')}
          buckets={named}
          series={runKinds.map((kind) => ({ name: runWords[kind], look: `chart-${kind}`, values: of(kind) }))}
          textOf={numberText}
        />
        <Chart
          title={t('Tokens')}
          buckets={named}
          series={[
            { name: t('read'), look: 'chart-read', values: of('inputTokens') },
            { name: t('written'), look: 'chart-written', values: of('outputTokens') },
          ]}
          textOf={(value) => compact.format(value)}
        />
        <Chart
          title={t('Time to decision')}
          buckets={named}
          series={[
            { name: 'p90', look: 'chart-most', values: of('verdictP90') },
            { name: 'p50', look: 'chart-half', values: of('verdictP50') },
          ]}
          textOf={(value) => (value === 0 ? t('none') : durationText(value * 1000))}
          isNested
        />
        <Chart
          title={t('Cost')}
          buckets={named}
          series={[{ name: t('US dollars'), look: 'chart-written', values: of('cost') }]}
          textOf={moneyText}
        />
        <SpendingTable rows={spending} onPriced={reload} />
        <ToolsTable tools={tools} />
      </div>
      <BucketTable buckets={named.filter(isBusy)} />
    </>
  )
}

function Sums({ figures, runs }: { figures: Figures; runs: number }) {
  const { buckets, verdictP50, verdictP90, cost, unpricedTokens } = figures
  const asked = sumOf(buckets, 'approvals')
  const finished = buckets.reduce((sum, bucket) => sum + finishedOf(bucket), 0)
  const facts: [string, string][] = [
    [t('Runs'), numberText(runs)],
    [t('Completed, of those that ended'), shareText(sumOf(buckets, 'completed'), finished)],
    [t('Failed, of those that ended'), shareText(sumOf(buckets, 'failed'), finished)],
    [t('Tokens'), numberText(sumOf(buckets, 'inputTokens') + sumOf(buckets, 'outputTokens'))],
    [t('Cost'), costText(cost, unpricedTokens)],
    [t('Approval requests'), numberText(asked)],
    [t('Expired requests'), shareText(sumOf(buckets, 'approvalsExpired'), asked)],
    [t('p50 time to decision'), secondsText(verdictP50)],
    [t('p90 time to decision'), secondsText(verdictP90)],
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
