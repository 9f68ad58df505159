/**
 * The home page: what waits now, and what ran in a stretch of time: how runs ended, what they cost, how long people took,
 * and which tools failed.
 */
import './insights.css'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { serverNow } from '../../api/clock.ts'
import { graphql, type ResultOf } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { Ago } from '../../parts/moments.tsx'
import { durationText } from '../../parts/durations.ts'
import { moneyText } from '../../parts/money.ts'
import { Segments } from '../../parts/segments.tsx'
import { RangeFields } from '../../parts/filters.tsx'
import { membersOf, rangeOf } from '../../parts/time-range.ts'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Chart } from './chart.tsx'
import { BucketTable, ToolsTable } from './figures.tsx'
import { SpendingTable } from './spending.tsx'
import {
  beginOf,
  costText,
  labelsOf,
  finishedOf,
  isBusy,
  runKinds,
  runWords,
  runsOf,
  secondsText,
  shareText,
  stretchBetween,
  stretches,
  sumOf,
  type Bucket,
  type Stretch,
} from './sums.ts'
import { t, T, numberText, locale } from '../../texts/texts.tsx'

const statisticsQuery = graphql(`
  query Statistics($projectId: ID, $from: DateTime, $to: DateTime, $bucket: StatisticsBucketSize) {
    statistics(projectId: $projectId, from: $from, to: $to, bucket: $bucket) {
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

export function Insights() {
  const { params, go } = useAddress()
  const given = rangeOf(params)
  const { from: first, to: last } = given
  const chosen =
    first || last ? null : (stretches.find(({ key }) => key === params.get('range')) ?? stretches[0])
  const [isRange, setRange] = useState(false)
  const { from, to, bucket } = useMemo(
    () =>
      chosen
        ? { from: beginOf(chosen, serverNow()), to: null, bucket: chosen.bucket }
        : stretchBetween(first, last, serverNow()),
    [chosen, first, last],
  )
  const { data, error, reload } = useQuery(statisticsQuery, { from, to, bucket })
  return (
    <>
      <Now />
      <div className="row">
        <Segments
          label={t('Time')}
          value={isRange ? null : chosen}
          options={[
            ...stretches.map((value) => ({ value, name: value.name })),
            { value: null, name: t('Between …') },
          ]}
          onChange={(one) => {
            setRange(one === null)
            if (one) go({ range: one === stretches[0] ? null : one.key, from: null, to: null })
          }}
        />
        {(isRange || chosen === null) && (
          <RangeFields range={given} onChange={(range) => go({ ...membersOf(range), range: null })} />
        )}
        <button type="button" className="spread" onClick={reload}>
          {t('Refresh')}
        </button>
      </div>
      {error !== null && <Failure error={error} retry={reload} />}
      {data ? (
        <Shown figures={data.statistics} bucket={bucket} reload={reload} range={{ from, to }} />
      ) : (
        error === null && <Skeleton lines={8} />
      )}
    </>
  )
}

const nowQuery = graphql(`
  query Now($projectId: ID) {
    projectSummary(projectId: $projectId) {
      pendingApprovals
      unknownCalls
      faultyUpstreams
      running
      waiting
    }
    approvals(projectId: $projectId, filter: { statuses: [PENDING] }, last: 1) {
      nodes {
        id
        createdAt
      }
    }
  }
`)

const nowTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'TOOL_CALL_UNKNOWN',
  'UNKNOWN_CALL_RESOLVED',
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
] as const

/** What wants somebody now, each leading to its list. */
function Now() {
  const { data, error, reload } = useQuery(nowQuery, {}, { eventTypes: nowTypes })
  if (error !== null && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={2} />
  const { pendingApprovals, unknownCalls, faultyUpstreams, running, waiting } = data.projectSummary
  const [oldest] = data.approvals.nodes
  const facts = [
    { href: '/approvals', name: t('Waiting for approval'), count: pendingApprovals },
    { href: '/unknown', name: t('Unknown calls'), count: unknownCalls },
    { href: '/runs?status=RUNNING', name: t('Running'), count: running },
    {
      href: '/runs?status=AWAITING_APPROVAL&status=REQUIRES_ACTION',
      name: t('Runs that wait'),
      count: waiting,
    },
    { href: '/tools?kind=MCP', name: t('Upstreams with faults'), count: faultyUpstreams },
  ]
  return (
    <dl className="facts insights-sums insights-now">
      {facts.map(({ href, name, count }) => (
        <div key={href}>
          <dt>{name}</dt>
          <dd>
            <Link href={href}>{numberText(count)}</Link>
            {href === '/approvals' && oldest && (
              <Link href={`/approvals/${oldest.id}`} className="small">
                <T text="oldest: {when}" when={<Ago at={oldest.createdAt} />} />
              </Link>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A range in the address of a list. */
const spanOf = ({ from, to }: ShownProps['range']) =>
  new URLSearchParams({ from, ...(to && { to }) }).toString()

const compact = new Intl.NumberFormat(locale, { notation: 'compact' })

interface ShownProps {
  figures: Figures
  bucket: Stretch['bucket']
  range: { from: string; to: string | null }
  reload(): void
}

function Shown({ figures, bucket, range, reload }: ShownProps) {
  const { buckets, tools, complete, spending } = figures
  const runs = buckets.reduce((sum, one) => sum + runsOf(one), 0)
  if (runs === 0 && sumOf(buckets, 'approvals') === 0 && tools.length === 0)
    return (
      <Empty title={t('Nothing ran in this period')}>
        {t('Runs, decisions and calls are counted here.')}
      </Empty>
    )
  const labels = labelsOf(
    buckets.map(({ start }) => start),
    bucket,
  )
  const named = buckets.map((one, at) => ({ ...one, label: labels[at]! }))
  const of = (field: keyof Bucket) => buckets.map((one) => Number(one[field] ?? 0))
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
          href={`/runs?${spanOf(range)}`}
          buckets={named}
          series={runKinds.map((kind) => ({ name: runWords[kind], look: `chart-${kind}`, values: of(kind) }))}
          textOf={numberText}
        />
        <Chart
          title={t('Tokens')}
          buckets={named}
          series={[
            { name: t('input'), look: 'chart-read', values: of('inputTokens') },
            { name: t('output'), look: 'chart-written', values: of('outputTokens') },
          ]}
          textOf={(value) => compact.format(value)}
        />
        <Chart
          title={t('Time to decision')}
          href={`/approvals?view=decided&${spanOf(range)}`}
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
    <dl className="facts insights-sums">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
