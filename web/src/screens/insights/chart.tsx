/** Bars over time, one stack for each bucket, and below them the figures of the one that is pointed at. */
import { useState } from 'react'
import { Link } from 'wouter'
import { marksOf, topOf } from './sums.ts'

export interface Series {
  name: string
  /** The class that gives its look. */
  look: string
  values: readonly number[]
}

interface Props {
  title: string
  /** The list that it counts. */
  href?: string
  /** The beginning of each bucket, and what it is called. */
  buckets: readonly { start: string; label: string }[]
  series: readonly Series[]
  /** A value on the axis and in titles. */
  textOf(value: number): string
  /** Whether the series stand behind one another from the same foot, the highest first. */
  isNested?: boolean
}

/** How high the plot is, in pixels. */
const height = 120

export function Chart({ title, href, buckets, series, textOf, isNested = false }: Props) {
  const [at, setAt] = useState<number | null>(null)
  const sums = buckets.map((_bucket, index) => {
    const values = series.map(({ values: own }) => own[index] ?? 0)
    return isNested ? Math.max(0, ...values) : values.reduce((sum, value) => sum + value, 0)
  })
  const top = topOf(Math.max(0, ...sums))
  const width = 100 / buckets.length
  const titles = buckets.map(
    ({ label }, index) =>
      `${label}: ${series.map(({ name, values }) => `${name} ${textOf(values[index] ?? 0)}`).join(', ')}`,
  )
  return (
    <figure className="chart">
      <figcaption>
        <h3>{href ? <Link href={href}>{title}</Link> : title}</h3>
        <span className="chart-legend small mute">
          {series.map(({ name, look }) => (
            <span key={name}>
              <svg width="12" height="12" aria-hidden="true" focusable="false">
                <rect className={look} x="1" y="1" width="10" height="10" rx="2" />
              </svg>
              {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div className="chart-body">
        <div className="chart-axis small mute" aria-hidden="true">
          <span>{textOf(top)}</span>
          <span>0</span>
        </div>
        <svg
          className="chart-plot"
          width="100%"
          height={height}
          aria-hidden="true"
          focusable="false"
          onPointerLeave={() => setAt(null)}
          onPointerMove={({ clientX, currentTarget }) => {
            const box = currentTarget.getBoundingClientRect()
            const share = (clientX - box.left) / box.width
            setAt(Math.max(0, Math.min(buckets.length - 1, Math.floor(share * buckets.length))))
          }}
        >
          {[0, 0.5, 1].map((share) => (
            <line
              key={share}
              className="chart-line"
              x1="0"
              x2="100%"
              y1={0.5 + share * (height - 1)}
              y2={0.5 + share * (height - 1)}
            />
          ))}
          {at !== null && (
            <rect className="chart-here" x={`${at * width}%`} width={`${width}%`} y="0" height={height} />
          )}
          {buckets.map(({ start }, index) => (
            <Stack
              key={start}
              series={series}
              at={index}
              x={index * width + width * 0.14}
              width={width * 0.72}
              heightOf={(value) => (value / top) * (height - 1)}
              isNested={isNested}
            />
          ))}
        </svg>
        <div className="chart-times small mute" aria-hidden="true">
          {marksOf(buckets.map(({ label }) => label)).map((label, place) => (
            // The first day of a year may be called like its last.
            // oxlint-disable-next-line react/no-array-index-key
            <span key={place}>{label}</span>
          ))}
        </div>
      </div>
      {/* Its place is there from the start: nothing moves under the pointer. The table has the same for everybody. */}
      <p className="chart-tip small" aria-hidden="true">
        {at !== null && titles[at]}
      </p>
    </figure>
  )
}

interface StackProps {
  series: readonly Series[]
  at: number
  x: number
  width: number
  heightOf(value: number): number
  isNested: boolean
}

function Stack({ series, at, x, width, heightOf, isNested }: StackProps) {
  const stacked = stackOf(
    series.map(({ values }) => heightOf(values[at] ?? 0)),
    isNested,
  )
  return (
    <g>
      {series.map(
        ({ name, look }, one) =>
          stacked[one] && (
            <rect
              key={name}
              className={look}
              x={`${x.toFixed(3)}%`}
              width={`${width.toFixed(3)}%`}
              y={stacked[one].y}
              height={stacked[one].high}
            />
          ),
      )}
    </g>
  )
}

/** Where each part of a stack is drawn; null for one of no height. What is there is seen, however little it is. */
function stackOf(heights: readonly number[], isNested: boolean): ({ y: number; high: number } | null)[] {
  let foot = height
  return heights.map((own) => {
    if (own === 0) return null
    const high = Math.max(2, own)
    const y = Math.max(0, foot - high)
    if (!isNested) foot = y
    return { y, high }
  })
}
