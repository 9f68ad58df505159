/** The grant that goes with a verdict. */
import type { VariablesOf } from '../../api/document.ts'
import { agentCallOf } from './agent-call.tsx'
import type { decideMutation, Question } from './documents.ts'

type GrantInput = NonNullable<VariablesOf<typeof decideMutation>['input']['grant']>

export type Verdict = 'APPROVE' | 'REJECT'

export interface GrantChoice {
  /** The verdict that is remembered, or with which what asked ends (STOP); null: neither. */
  of: Verdict | 'STOP' | null
  holder: 'AGENT' | 'CALLER' | 'THREAD'
  /** SESSION: writes of a coding agent below its working directory. */
  scope: 'EXACT' | 'SESSION' | 'TOOL'
  maxUses: number
  hours: number
}

export const noGrant: GrantChoice = { of: null, holder: 'THREAD', scope: 'EXACT', maxUses: 10, hours: 1 }

/** The grant as the mutation takes it; null when none is wanted with this verdict. */
export function grantInput(
  { of, holder, scope, maxUses, hours }: GrantChoice,
  verdict: Verdict,
  question: Question,
): GrantInput | null {
  if (of !== verdict) return null
  const covered =
    scope === 'SESSION' ? { scope: 'SCHEMA' as const, schema: sessionSchema(question) } : { scope }
  const grant = { holder, ...covered, expiresInSeconds: Math.round(hours * 3600) }
  return of === 'APPROVE' ? { ...grant, maxUses } : grant
}

/** The arguments that all writes of this session have in common; null when more is at stake than such writes. */
export function sessionSchema(question: Question): Record<string, unknown> | null {
  const call = agentCallOf(question)
  if (!call || call.effects.join() !== 'write' || !call.session || !call.cwd) return null
  const { session, cwd, effects } = call
  const properties = { session: { const: session }, cwd: { const: cwd }, effects: { const: effects } }
  return { properties, required: Object.keys(properties) }
}
