/** What people always approved, and the gate that would let it pass: it fills the form, and saves nothing. */
import type { ReactNode } from 'react'
import { writeJson } from '../../../../src/core/exact-json.ts'
import { serverNow } from '../../api/clock.ts'
import { useQuery } from '../../api/query.ts'
import { policyOf, type Policy } from '../../parts/gate-draft.ts'
import { Foreign } from '../../parts/text.tsx'
import type { ToolDetail } from './documents.ts'
import { adviceQuery, type Advice } from './gate-documents.ts'
import { plural, t, T } from '../../texts/texts.tsx'

interface Props {
  tool: ToolDetail
  action: string | null
  onTake(policy: Policy): void
}

export function GateAdvice({ tool, action: own, onTake }: Props) {
  // The gate of a platform tool is that of all its actions; there is advice where it has one.
  const [first, ...others] = tool.__typename === 'PlatformTool' ? tool.actions : []
  const action = own ?? (others.length === 0 ? (first?.action ?? null) : null)
  const hasActions = tool.__typename === 'McpTool' || tool.__typename === 'PlatformTool'
  const { data } = useQuery(
    adviceQuery,
    { toolId: tool.id, action },
    { eventTypes: ['GATE_CHANGED', 'TOOL_UPDATED'], skip: hasActions && action === null },
  )
  const advice = data?.gateAdvice
  if (!advice) return null
  return (
    <aside className="row gate-advice" aria-label={t('Advice')}>
      <p>{sentenceOf(advice)}</p>
      <button type="button" onClick={() => onTake(policyOf(advice.gate))}>
        {t('Use this gate')}
      </button>
    </aside>
  )
}

function sentenceOf({ kind, title, value, approved: n, since }: Advice): ReactNode {
  const days = Math.max(1, Math.round((serverNow() - Date.parse(since)) / 86_400_000))
  const when = plural(days, 'in the last day', 'in the last {count} days')
  const about = {
    field: <Foreign text={title ?? ''} max={64} />,
    value: <Foreign text={textOf(value)} max={64} />,
  }
  switch (kind) {
    case 'AT_MOST':
      return (
        <T
          text="{n} of {n} calls with {field} at most {value} were approved {when}."
          {...{ n, when, ...about }}
        />
      )
    case 'AT_LEAST':
      return (
        <T
          text="{n} of {n} calls with {field} at least {value} were approved {when}."
          {...{ n, when, ...about }}
        />
      )
    case 'EQUAL':
      return (
        <T text="{n} of {n} calls with {field} {value} were approved {when}." {...{ n, when, ...about }} />
      )
    default:
      return <T text="{n} of {n} calls were approved {when}." n={n} when={when} />
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : writeJson(value))
