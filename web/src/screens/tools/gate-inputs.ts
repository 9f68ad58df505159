/** The inputs that set the gate of a tool or of one action, at once or as a proposal. Pure. */
import { gateInputOf, type PolicyInput } from '../../parts/gate-draft.ts'
import type { ToolDetail, UpdateInput } from './documents.ts'
import { configOf } from './tool-config.ts'
import { draftOfTool } from './tool-draft.ts'
import type { ProposeInput } from '../../parts/gate-proposal.ts'

/** The gates of single actions with one of them set, or removed with null. */
function actionGates(tool: ToolDetail, action: string, gate: PolicyInput | null) {
  const now = tool.__typename === 'McpTool' ? tool.gates : []
  const others = now
    .filter((one) => one.action !== action)
    .map((one) => ({ action: one.action, gate: gateInputOf(one.gate) }))
  return gate ? [...others, { action, gate }] : others
}

/** Sets the gate at once. Null removes it: what the tool says about itself counts then. */
export function gateUpdate(tool: ToolDetail, action: string | null, gate: PolicyInput | null): UpdateInput {
  const input = { id: tool.id, expectedVersion: tool.version }
  if (action === null) return { ...input, gate }
  return { ...input, config: configOf('mcp', draftOfTool(tool), actionGates(tool, action, gate), []) }
}

/** Proposes the gate to a second person. */
export function gateProposal(
  tool: ToolDetail,
  action: string | null,
  gate: PolicyInput | null,
  note: string,
): ProposeInput {
  const input = { targetId: tool.id, ...(note.trim() === '' ? {} : { note: note.trim() }) }
  if (action !== null) return { ...input, actionGates: actionGates(tool, action, gate) }
  return gate ? { ...input, gate } : { ...input, removeGate: true }
}
