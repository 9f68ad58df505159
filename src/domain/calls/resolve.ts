/** Resolving a call whose outcome is unknown: a person says what happened. */
import { idShape, json } from '../../core/shapes.ts'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { errorResult, type ToolResult } from '../../core/content.ts'
import { AppError, invalidAt, notFound } from '../../core/errors.ts'
import { type Json, jsonTooBig, writeJson } from '../../core/json.ts'
import { atomically } from '../../store/db/database.ts'
import { writtenRows } from '../../store/db/rows.ts'
import { sql } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { assertMay, assertReached, operation, reachable, recordChange } from '../access/index.ts'
import { appendProjectEvents, unknownCallResolved, withRequester } from '../events/index.ts'
import { resolution, resolveCall, toolCallOf } from '../tool-calls/index.ts'
import { callPayload } from './pass-gate.ts'

const outputLimits = { maxBytes: 1024 * 1024, maxDepth: 100 }

const shape = z
  .object({
    toolCallId: idShape('The id of the tool call; it begins with call_. The status must be UNKNOWN.'),
    outcome: resolution.describe('The outcome to set, or RUN_AGAIN.'),
    output: json()
      .nullish()
      .describe('The output of the call, or the error for FAILED. Not allowed with RUN_AGAIN.'),
    reason: text(2000).nullish().describe('The reason, kept in the audit; at most 2,000 characters.'),
  })
  .describe('The outcome that a person found out.')

/**
 * Action on the tool. RUN_AGAIN keeps the Idempotency-Key. The generation of the call has continued meanwhile: its later steps,
 * and other generations of the thread, see the new result. CONFLICT when the call is not UNKNOWN or was resolved by somebody else.
 */
export const resolveUnknownCall = operation({
  name: 'resolveUnknownCall',
  does: 'Sets the outcome of a tool call with status UNKNOWN, or runs it again; later steps of its thread see the new result.',
  permission: 'toolCalls:Resolve',
  input: shape,
  payload: callPayload,
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(ctx, given) {
    const [found] = await ctx.db.select().from(toolCalls).where(eq(toolCalls.id, given.toolCallId))
    const row = reachable(ctx, found, 'tool call', given.toolCallId)
    const { projectId, toolId } = row
    if (toolId === null) throw notFound('tool call', given.toolCallId)
    const what = { action: 'toolCalls:Resolve', projectId, resource: `tool/${toolId}` } as const
    await assertReached(ctx, what, `toolCall/${row.id}`, { by: row.requestedBy })
    await assertMay(ctx, what.action, projectId, what.resource)
    if (given.outcome === 'RUN_AGAIN' && row.kind === 'client')
      throw invalidAt(
        ['input', 'outcome'],
        'must say what became of it: the program that runs it asks again by itself',
      )
    const result = resultOf(given)
    const call = await atomically(ctx.db, async (tx) => {
      const said = { resolution: given.outcome, by: ctx.principal.id, result }
      const [changed] = await writtenRows(tx, toolCalls, [sql`g as (${resolveCall(row.id, said)})`])
      if (!changed)
        throw new AppError(
          'CONFLICT',
          'The outcome of this call is not unknown, or somebody has settled it.',
          {
            conflictingId: row.id,
          },
        )
      const { outcome, reason } = given
      const details = { toolCallId: row.id, outcome, ...(reason ? { reason } : {}) }
      await recordChange(tx, ctx, {
        projectId,
        action: 'toolCalls:Resolve',
        resource: `tool/${toolId}`,
        details,
      })
      const facts = { toolCallId: row.id, name: row.runtimeName }
      const event = unknownCallResolved({ ...facts, outcome, decidedBy: ctx.principal.id })
      await appendProjectEvents(tx, projectId, withRequester(row.requestedBy, [event]))
      return toolCallOf(changed)
    })
    ctx.pubsub.publish([
      { kind: 'news', projectId, generationId: null, seq: null },
      ...(result ? [] : [{ kind: 'work', table: 'tool_calls' } as const]),
    ])
    return { toolCall: call, callbackSecret: null }
  },
})

/** The result that the person states; null for RUN_AGAIN. */
function resultOf(given: z.output<typeof shape>): ToolResult | null {
  const output = (given.output ?? null) as Json
  if (given.outcome === 'RUN_AGAIN') {
    if (output !== null) throw invalidAt(['input', 'output'], 'must be left out with the outcome RUN_AGAIN')
    return null
  }
  const tooBig = jsonTooBig(output, outputLimits)
  if (tooBig) throw invalidAt(['input', 'output'], tooBig)
  if (given.outcome === 'FAILED') {
    const message = typeof output === 'string' ? output : 'A person found that this call failed.'
    return errorResult(
      'resolved_failed',
      message,
      output === null || typeof output === 'string' ? {} : { output },
    )
  }
  const said = output === null ? 'A person found that this call succeeded; its output is not known.' : output
  return {
    content: [{ type: 'text', text: typeof said === 'string' ? said : writeJson(said) }],
    ...(typeof said === 'string' ? {} : { structuredContent: said }),
    isError: false,
  }
}
