/** The inputs of createTool and updateTool that the fields of an edited tool mean. Pure. */
import type { Issue } from '../../api/outcome.ts'
import { changedNames } from '../../parts/rebase.ts'
import { inputOf, type PolicyInput } from '../../parts/gate-draft.ts'
import type { CreateInput, Kind, ToolDetail, UpdateInput } from './documents.ts'
import { configOf, objectFrom } from './tool-config.ts'
import { kindOf, newDraft, type Hint, type ToolDraft } from './tool-draft.ts'
import type { FieldsInput } from '../../parts/told-issues.ts'
import { t } from '../../texts/texts.tsx'

const configNames = new Set<string>(Object.keys(newDraft).slice(Object.keys(newDraft).indexOf('inputSchema')))

const hintFrom = (hint: Hint): boolean | null => (hint === 'none' ? null : hint === 'yes')

/** The input of createTool. */
export function createInputOf(kind: Kind, draft: ToolDraft): FieldsInput<Omit<CreateInput, 'projectId'>> {
  const issues: Issue[] = []
  const input = {
    name: draft.name.trim(),
    ...commonOf(draft, issues),
    config: configOf(kind, draft, [], issues),
    gate: gateOf(draft, issues),
  }
  return issues.length > 0 ? { issues } : { input: withoutNull(input) as typeof input }
}

/** The input of updateTool with what was changed, and nothing else; null when nothing was. */
export function updateInputOf(
  tool: ToolDetail,
  base: ToolDraft,
  draft: ToolDraft,
): FieldsInput<UpdateInput> | null {
  const changed = new Set<string>(changedNames(base, draft))
  if (changed.size === 0) return null
  const issues: Issue[] = []
  const own: Record<string, readonly string[]> = {
    annotations: ['annotationTitle', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'],
    task: ['taskMode', 'inputPhase'],
  }
  const all: Record<string, unknown> = { name: draft.name.trim(), ...commonOf(draft, issues) }
  const common = Object.entries(all).filter(([name]) => (own[name] ?? [name]).some((one) => changed.has(one)))
  const gates = tool.__typename === 'McpTool' ? tool.gates : []
  const config = [...changed].some((name) => configNames.has(name))
    ? { config: configOf(kindOf(tool), draft, gates, issues) }
    : {}
  if (issues.length > 0) return { issues }
  return { input: { id: tool.id, expectedVersion: tool.version, ...Object.fromEntries(common), ...config } }
}

/** None unless it stops calls: what the tool says about itself counts then. */
function gateOf({ gate }: ToolDraft, issues: Issue[]): PolicyInput | null {
  if (gate.mode === 'NEVER') return null
  const written = inputOf(gate)
  if ('input' in written) return written.input
  issues.push(...written.faults.map(({ path, message }) => ({ path: ['input', ...path], message })))
  return null
}

function commonOf(draft: ToolDraft, issues: Issue[]) {
  return {
    title: draft.title.trim() || null,
    description: draft.description.trim() || null,
    agentsOnly: draft.agentsOnly,
    timeoutMs: wholeFrom(draft.timeoutMs, 'timeoutMs', issues),
    idempotent: hintFrom(draft.idempotent),
    outputSchema:
      draft.outputSchema.trim() === '' ? null : objectFrom(draft.outputSchema, ['outputSchema'], issues),
    annotations: {
      title: draft.annotationTitle.trim() || null,
      readOnlyHint: hintFrom(draft.readOnlyHint),
      destructiveHint: hintFrom(draft.destructiveHint),
      idempotentHint: hintFrom(draft.idempotentHint),
      openWorldHint: hintFrom(draft.openWorldHint),
    },
    task: { mode: draft.taskMode, inputPhase: draft.inputPhase },
  }
}

function wholeFrom(text: string, name: string, issues: Issue[]): number | null {
  if (text.trim() === '') return null
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    issues.push({ path: ['input', name], message: t('must be a whole number') })
  return value
}

/** A new tool leaves out what it has no value for. */
const withoutNull = (input: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
