/** The values of one number in recorded calls, with the threshold of the condition about it, which is dragged over them. */
import { isJsonNumber, isObject } from '../../../../src/core/exact-json.ts'
import type { Draft } from '../../parts/gate-draft.ts'
import type { Row } from '../../parts/gate-rules.ts'
import { numberText, plural, t } from '../../texts/texts.tsx'

interface Props {
  draft: Draft
  calls: readonly { arguments: unknown }[]
  onChange(draft: Draft): void
}

export function GateHistogram({ draft, calls, onChange }: Props) {
  const row = thresholdOf(draft)
  const values = row ? calls.flatMap((call) => numberAt(call.arguments, row.path)) : []
  if (!row || values.length === 0) return null
  const limit = Number(row.value)
  const isHeld = tests[row.operator]!
  const { from, to, size, step } = scaleOf(values)
  const bins = Array.from({ length: Math.round((to - from) / size) }, (_, at) => {
    const own = values.filter(
      (value) => Math.min(Math.floor((value - from) / size), (to - from) / size - 1) === at,
    )
    return {
      from: rounded(from + at * size, size),
      all: own.length,
      held: own.filter((value) => isHeld(value, limit)).length,
    }
  })
  const most = Math.max(...bins.map(({ all }) => all))
  const held = values.filter((value) => isHeld(value, limit)).length
  const field = row.path.join('.')
  const text = plural(values.length, '{held} of 1 call held', '{held} of {count} calls held', { held })
  const set = (value: number) =>
    onChange({ ...draft, when: { as: 'rows', rules: { match: 'all', rows: [{ ...row, value }] } } })
  return (
    <section className="gate-histogram" aria-label={t('Calls by {field}', { field })}>
      <p className="small">{text}</p>
      <svg viewBox={`0 0 ${bins.length} 100`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {bins.map(({ from: at, all, held: stopped }, index) => (
          <g key={at}>
            <rect
              x={index + 0.06}
              width={0.88}
              y={100 - (100 * all) / most}
              height={(100 * (all - stopped)) / most}
            />
            <rect
              className="held"
              x={index + 0.06}
              width={0.88}
              y={100 - (100 * stopped) / most}
              height={(100 * stopped) / most}
            />
          </g>
        ))}
        <line x1={(limit - from) / size} x2={(limit - from) / size} y1={0} y2={100} />
      </svg>
      <input
        type="range"
        aria-label={t('Threshold of {field}', { field })}
        aria-valuetext={`${numberText(limit)}, ${text}`}
        min={from}
        max={to}
        step={step}
        value={limit}
        onChange={(event) => set(rounded(event.target.valueAsNumber, step))}
      />
      <p className="row small mute" aria-hidden="true">
        <span>{numberText(from)}</span>
        <span className="spread">{numberText(to)}</span>
      </p>
      <details>
        <summary className="small">{t('As a table')}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('From')}</th>
              <th scope="col">{t('Calls')}</th>
              <th scope="col">{t('Held')}</th>
            </tr>
          </thead>
          <tbody>
            {bins.map((bin) => (
              <tr key={bin.from}>
                <td>{numberText(bin.from)}</td>
                <td>{numberText(bin.all)}</td>
                <td>{numberText(bin.held)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}

const tests: Partial<Record<Row['operator'], (value: number, limit: number) => boolean>> = {
  'is more than': (value, limit) => value > limit,
  'is at least': (value, limit) => value >= limit,
  'is less than': (value, limit) => value < limit,
  'is at most': (value, limit) => value <= limit,
}

/** The one condition of the draft, when it compares a number. */
function thresholdOf({ mode, when }: Draft): Row | null {
  if (mode !== 'WHEN' || when.as !== 'rows' || when.rules.rows.length !== 1) return null
  const [row] = when.rules.rows
  return row && tests[row.operator] && isJsonNumber(row.value) ? row : null
}

function numberAt(args: unknown, path: readonly string[]): number[] {
  let at = args
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return isJsonNumber(at) ? [Number(String(at))] : []
}

/** About twenty bins of a round size over the values, and a tenth of it to move by: whole for whole numbers. */
function scaleOf(values: readonly number[]) {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const rough = (high - low || Math.abs(high) || 1) / 20
  const power = 10 ** Math.floor(Math.log10(rough))
  const round = power * ([1, 2, 5].find((times) => times * power >= rough * 0.999) ?? 10)
  const isWhole = values.every((value) => Number.isInteger(value))
  const size = isWhole ? Math.max(1, round) : round
  const from = rounded(Math.floor(low / size) * size, size)
  const to = rounded((Math.floor(high / size) + 1) * size, size)
  return { from, to, size, step: isWhole ? Math.max(1, size / 10) : size / 10 }
}

/** Without the digits that adding doubles leaves behind. */
const rounded = (value: number, step: number): number =>
  Number(value.toFixed(Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(step))))))
