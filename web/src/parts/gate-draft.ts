/** A gate while it is edited: what the fields show, and what is sent. Pure. */
import { isObject, writeJson } from '../../../src/core/exact-json.ts'
import type { Issue } from '../api/outcome.ts'
import { parseExactly } from './exact-json.ts'
import { rulesOfSchema, schemaOfRules, isAboutPresence, type Row, type Rules } from './gate-rules.ts'
import type { Schema } from './schema-form-resolve.ts'
import { t } from '../texts/texts.tsx'

export type Role = 'ADMIN' | 'APPROVER' | 'CALLER' | 'DEVELOPER' | 'VIEWER'
export type Mode = 'ALWAYS' | 'NEVER' | 'WHEN'

/** What a gate is wherever it is read, edited and sent. */
interface Common {
  mode: Mode
  timeoutSeconds: number
  quorum: number
  excludeRequester: boolean
  verdictLinks: boolean
  responses: boolean
}

/** A gate as the API returns it. */
export interface Policy extends Common {
  when: Schema | null
  approvers: readonly Role[]
  escalateAfterSeconds: number | null
  title: string | null
}

/** A gate as the API takes it. */
export interface PolicyInput extends Common {
  when?: Schema
  approvers: Role[]
  escalateAfterSeconds?: number
  title?: string
}

export interface Draft extends Common {
  /** The conditions as rows, or as the text of a schema. */
  when: { as: 'rows'; rules: Rules } | { as: 'json'; text: string }
  approvers: readonly Role[]
  escalateAfterSeconds: number | null
  /** The sentence of its questions; empty: the default one. */
  title: string
}

export const newPolicy: Policy = {
  mode: 'ALWAYS',
  when: null,
  timeoutSeconds: 300,
  quorum: 1,
  excludeRequester: false,
  approvers: [],
  escalateAfterSeconds: null,
  verdictLinks: false,
  responses: false,
  title: null,
}

export const emptyRow: Row = { path: [], operator: 'is', value: undefined, orMissing: false }

/** The draft of a policy. Conditions that rows cannot say are JSON. */
export function draftOf(policy: Policy): Draft {
  const { when, title, ...same } = policy
  const common = { ...same, title: title ?? '' }
  if (!when) return { ...common, when: { as: 'rows', rules: { match: 'all', rows: [emptyRow] } } }
  const rules = rulesOfSchema(when)
  return {
    ...common,
    when: rules ? { as: 'rows', rules } : { as: 'json', text: writeJson(when, 2) },
  }
}

/** The input that a draft means, or what is wrong with it; paths begin at the gate. */
export function inputOf(draft: Draft): { input: PolicyInput } | { faults: Issue[] } {
  const { mode, timeoutSeconds, quorum, escalateAfterSeconds, title } = draft
  const faults: Issue[] = []
  const fault = (name: string, message: string) => void faults.push({ path: ['gate', name], message })
  const when = mode === 'WHEN' ? schemaOf(draft.when, faults) : null
  if (!isBetween(timeoutSeconds, 5, 604_800))
    fault('timeoutSeconds', t('must be 5 s to 7 d, such as 5 min, 1 h or 2 d'))
  if (!isBetween(quorum, 1, 10)) fault('quorum', t('must be 1 to 10'))
  if (escalateAfterSeconds !== null && !isBetween(escalateAfterSeconds, 1, timeoutSeconds - 1))
    fault('escalateAfterSeconds', t('must be at least 1 s and less than the time to decide'))
  if (faults.length > 0) return { faults }
  return { input: gateInputOf({ ...draft, when, title: title.trim() || null }) }
}

const isBetween = (value: number, least: number, most: number) =>
  Number.isInteger(value) && value >= least && value <= most

function schemaOf(when: Draft['when'], faults: Issue[]): Schema | null {
  if (when.as === 'rows') {
    const { rows } = when.rules
    if (rows.length === 0) faults.push({ path: ['gate', 'when'], message: t('needs a condition') })
    for (const [at, row] of rows.entries())
      if (!isComplete(row))
        faults.push({ path: ['gate', 'when', String(at)], message: t('needs a property and a value') })
    return schemaOfRules(when.rules)
  }
  try {
    const schema = parseExactly(when.text)
    if (isObject(schema)) return schema
    faults.push({ path: ['gate', 'when'], message: t('must be a JSON object') })
  } catch (error) {
    faults.push({ path: ['gate', 'when'], message: error instanceof Error ? error.message : String(error) })
  }
  return null
}

const isComplete = ({ path, operator, value }: Row): boolean =>
  path.length > 0 && path.every((name) => name !== '') && (isAboutPresence(operator) || value !== undefined)

/** The draft with its conditions in the other form; null when rows cannot say them. */
export function switchForm(draft: Draft): Draft | null {
  const { when } = draft
  if (when.as === 'rows') {
    const complete = { ...when.rules, rows: when.rules.rows.filter(isComplete) }
    return { ...draft, when: { as: 'json', text: writeJson(schemaOfRules(complete), 2) } }
  }
  try {
    const schema = parseExactly(when.text)
    const isEmpty = isObject(schema) && Object.keys(schema).length === 0
    const rules: Rules | null = isEmpty ? { match: 'all', rows: [emptyRow] } : rulesOfSchema(schema)
    return rules && { ...draft, when: { as: 'rows', rules } }
  } catch {
    return null
  }
}

/** A gate of the API without where it comes from. */
export const policyOf = ({ source: _source, ...policy }: Policy & { source?: unknown }): Policy => policy

/** A gate of the API as its input. */
export function gateInputOf(
  policy: Omit<Policy, 'when' | 'escalateAfterSeconds' | 'title'> & {
    when?: unknown
    escalateAfterSeconds?: number | null
    title?: string | null
  },
): PolicyInput {
  const { mode, when, timeoutSeconds, quorum, excludeRequester, approvers, verdictLinks } = policy
  const { responses, escalateAfterSeconds = null, title = null } = policy
  return {
    mode,
    ...(isObject(when) ? { when } : {}),
    timeoutSeconds,
    quorum,
    excludeRequester,
    approvers: [...approvers],
    verdictLinks,
    responses,
    ...(escalateAfterSeconds === null ? {} : { escalateAfterSeconds }),
    ...(title === null ? {} : { title }),
  }
}
