/** What operators see of one sending of a call: its span and its duration. */
import { attributeNames as names } from '../../core/telemetry/names.ts'
import type { TraceContext } from '../../core/telemetry/trace-context.ts'
import { beginUnit } from '../../core/telemetry/unit.ts'
import type { Services } from '../access/index.ts'
import type { ToolCall } from '../tool-calls/index.ts'
import { codeOf, statusOf, type Finished } from '../tools/index.ts'
import type { InputRequired } from '../upstream/index.ts'
import type { Execution } from './execution.ts'

/** Runs the call; requests that it makes carry the trace context that `run` is given. */
export async function runAsUnit<Ran extends Finished | { inputRequired: InputRequired }>(
  { meters }: Services,
  call: ToolCall,
  { trace }: Pick<Execution<unknown>, 'trace'>,
  run: (trace: TraceContext | undefined) => Promise<Ran>,
): Promise<Ran> {
  const { id, generationId, threadId, kind, approvalId } = call
  const unit = beginUnit(meters, 'tool', {
    name: call.runtimeName,
    parent: trace?.parent,
    links: [trace?.continues],
    attributes: {
      [names.operation]: 'execute_tool',
      [names.toolName]: call.runtimeName,
      [names.toolCallId]: id,
      [names.toolType]: kind === 'platform' ? 'function' : 'extension',
      ...(kind === 'mcp' ? { [names.mcpMethod]: 'tools/call' } : {}),
      ...(generationId ? { [names.generation]: generationId } : {}),
      ...(threadId ? { [names.conversation]: threadId } : {}),
      ...(approvalId ? { [names.approval]: approvalId } : {}),
    },
  })
  const end = (outcome: string, errorType?: string) => unit.end({ kind: kind ?? 'none', outcome }, errorType)
  try {
    const ran = await run(unit.trace)
    if ('inputRequired' in ran) end('input_required')
    else {
      const outcome = statusOf(ran)
      end(outcome.toLowerCase(), outcome === 'SUCCEEDED' ? undefined : (codeOf(ran.result) ?? 'tool_error'))
    }
    return ran
  } catch (error) {
    end('not_sent', error instanceof Error ? error.name : 'unknown')
    throw error
  }
}
