/**
 * The tool `approve` of the platform's MCP server: a coding agent asks about a call, as `claude --permission-prompt-tool` does
 * and a hook of Codex of the type mcp_tool.
 */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import { isJsonObject, writeJson, type JsonObject } from '../../core/json.ts'
import type { Ctx } from '../../domain/access/index.ts'
import { askAsAgent, behaviorOf, codingAgent } from '../../domain/coding-agents/index.ts'

const object = z.custom<JsonObject>(isJsonObject, 'must be an object')
const id = z.string().max(1000).nullish()

const shape = z.object({
  agent: codingAgent.nullish(),
  tool_name: z.string().min(1).max(200),
  input: object.optional(),
  tool_input: object.optional(),
  tool_use_id: id,
  session_id: id,
  cwd: z.string().max(4000).nullish(),
})

export const approveTool = {
  name: 'approve',
  description:
    'Asks whether a coding agent may run one of its own calls, and waits for the verdict of a person up to an hour. For ' +
    'claude --permission-prompt-tool, and for a hook of Codex with tool_input.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      agent: {
        enum: codingAgent.options,
        description: 'The agent. Default: CODEX with tool_input, else CLAUDE.',
      },
      tool_name: { type: 'string', description: 'The tool of the agent.' },
      input: { type: 'object', description: 'What the tool is given, as Claude Code sends it.' },
      tool_input: { type: 'object', description: 'The same, as a hook of Codex sends it.' },
      tool_use_id: { type: 'string', description: 'The id that the agent has given the call.' },
      session_id: { type: 'string', description: 'The session of the agent.' },
      turn_id: { type: 'string', description: 'The turn of the session. It has no effect.' },
      cwd: { type: 'string', description: 'The working directory of the agent.' },
    },
    required: ['tool_name'],
  },
}

/** How long the call waits for a verdict, in milliseconds. */
const maxMs = 3_600_000

/** The answer as the text that the agent reads. A call that is not allowed is no error of the tool. */
export async function approveCall(ctx: Ctx, args: JsonObject, signal: AbortSignal): Promise<string> {
  const given = check(shape, args, ['arguments'])
  const isHook = given.tool_input !== undefined
  const input = given.tool_input ?? given.input ?? {}
  const agent = given.agent ?? (isHook ? 'CODEX' : 'CLAUDE')
  const answer = await askAsAgent(
    ctx,
    {
      agent,
      tool: given.tool_name,
      input,
      cwd: given.cwd ?? null,
      session: given.session_id || null,
      callId: given.tool_use_id || null,
    },
    { maxMs, signal, takesEdits: isHook ? 'NONE' : 'ALL' },
  )
  const decision = behaviorOf(agent, answer, isHook ? undefined : input)
  if (!isHook) return writeJson(decision)
  return writeJson({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } })
}
