/**
 * The hooks of coding agents: what each sends before and after a call, and the answers that it obeys. Facts of Claude Code
 * 2.1.330, Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0 and OpenCode 1.18.33, each judged with the program itself.
 */
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { isJsonObject, tryParseJson, type Json, type JsonObject } from '../../../core/json.ts'
import {
  behaviorOf,
  type AgentAnswer,
  type AgentCall,
  type CodingAgent,
  type TakenEdits,
} from '../../../domain/coding-agents/index.ts'

/** The agent asks; `render` gives the answer in its own form. */
interface HookQuestion {
  call: AgentCall
  takesEdits: TakenEdits
  render(answer: AgentAnswer): JsonObject
}

/** The agent says how a call ended. */
interface HookReport {
  call: AgentCall
  report: { output: Json; isError: boolean }
}

type HookEvent = HookQuestion | HookReport

interface HookProgram {
  read(body: Json, later: Later): HookEvent
  /** A refusal of a hook that could not be read. */
  refusal(reason: string): JsonObject
}

/**
 * What an agent is told that need not wait any longer: `defer` ends a run of Claude Code, which is resumed after the verdict;
 * `retry` is for a command that asks again.
 */
export type Later = 'deny' | 'defer' | 'retry'

const name = z.string().min(1).max(200)
const id = z.string().min(1).max(1000)
const place = z.string().max(4000).nullish()
const object = z.custom<JsonObject>(isJsonObject, 'must be an object')
const value = z.custom<Json>(() => true).optional()

const hookShape = z.object({
  hook_event_name: name,
  session_id: id,
  cwd: place,
  tool_name: name,
  tool_input: object,
  tool_use_id: id.nullish(),
  tool_response: value,
  error: value,
})

/** Claude Code and Codex share the form of their hooks. */
function hooksOf(agent: CodingAgent): HookProgram {
  return {
    read(body, later) {
      const given = check(hookShape, body, [])
      const event = given.hook_event_name
      const call: AgentCall = {
        agent,
        tool: given.tool_name,
        input: given.tool_input,
        cwd: given.cwd ?? null,
        session: given.session_id,
        callId: given.tool_use_id ?? null,
      }
      const isFailure = event === 'PostToolUseFailure'
      if (isFailure || event === 'PostToolUse') {
        const output = (isFailure ? given.error : given.tool_response) ?? null
        return { call, report: { output, isError: isFailure } }
      }
      if (event === 'PermissionRequest')
        return {
          call,
          takesEdits: agent === 'CLAUDE' ? 'ALL' : 'NONE',
          render: (answer) => ({
            hookSpecificOutput: { hookEventName: event, decision: behaviorOf(agent, answer) },
          }),
        }
      check(z.object({ hook_event_name: z.literal('PreToolUse') }), body, [])
      const undecided = agent === 'CLAUDE' && later === 'defer' ? 'defer' : 'deny'
      return {
        call,
        takesEdits: 'ALL',
        render: ({ answer, reason, stop, editedInput }) =>
          answer === 'ALLOW'
            ? decision(event, 'allow', null, editedInput)
            : {
                // Codex runs the call when it reads this; Claude Code runs it without the denial beside it.
                ...(stop && agent === 'CLAUDE' ? endOf(reason) : {}),
                ...decision(event, answer === 'WAIT' ? undecided : 'deny', reason),
              },
      }
    },
    refusal: (reason) => decision('PreToolUse', 'deny', reason),
  }
}

/** Ends the turn of Claude Code, and of Gemini CLI. */
const endOf = (reason: string | null): JsonObject => ({ continue: false, stopReason: reason ?? 'Denied.' })

function decision(
  hookEventName: string,
  permissionDecision: 'allow' | 'deny' | 'defer',
  reason: string | null,
  updatedInput: JsonObject | null = null,
): JsonObject {
  return {
    hookSpecificOutput: {
      hookEventName,
      permissionDecision,
      ...(reason === null ? {} : { permissionDecisionReason: reason }),
      ...(updatedInput === null ? {} : { updatedInput }),
    },
  }
}

const refused = (reason: string): AgentAnswer => ({ answer: 'DENY', reason, stop: false, editedInput: null })

const copilotShape = z.object({
  sessionId: id,
  cwd: place,
  toolName: name,
  toolArgs: z.union([object, z.string()]),
  toolResult: z.object({ resultType: z.string().nullish() }).loose().nullish(),
})

const copilot: HookProgram = {
  read(body) {
    const { sessionId, cwd, toolName, toolArgs, toolResult } = check(copilotShape, body, [])
    // Some releases send the arguments as text.
    const parsed = typeof toolArgs === 'string' ? tryParseJson(toolArgs) : toolArgs
    const input = check(z.object({ toolArgs: object }), { toolArgs: parsed }, []).toolArgs
    const call = callOf('COPILOT', { tool: toolName, input, cwd, session: sessionId, callId: null })
    if (toolResult)
      return {
        call,
        report: { output: toolResult as Json, isError: toolResult.resultType === 'failure' },
      }
    return { call, takesEdits: 'NONE', render: copilotAnswer }
  },
  refusal: (reason) => copilotAnswer(refused(reason)),
}

const copilotAnswer = ({ answer, reason }: AgentAnswer): JsonObject =>
  answer === 'ALLOW'
    ? { permissionDecision: 'allow' }
    : { permissionDecision: 'deny', permissionDecisionReason: reason ?? 'Denied.' }

const geminiShape = hookShape.omit({ tool_use_id: true, error: true })

const gemini: HookProgram = {
  read(body) {
    const given = check(geminiShape, body, [])
    const { tool_name: tool, tool_input: input, cwd, session_id: session } = given
    const call = callOf('GEMINI', { tool, input, cwd, session, callId: null })
    if (given.hook_event_name === 'AfterTool') {
      const output = given.tool_response ?? null
      const isError = isJsonObject(output) && output['error'] !== undefined && output['error'] !== null
      return { call, report: { output, isError } }
    }
    check(z.object({ hook_event_name: z.literal('BeforeTool') }), body, [])
    return { call, takesEdits: 'VALUES', render: geminiAnswer }
  },
  refusal: (reason) => geminiAnswer(refused(reason)),
}

const geminiAnswer = ({ answer, reason, stop, editedInput }: AgentAnswer): JsonObject => ({
  ...(stop ? endOf(reason) : {}),
  decision: answer === 'ALLOW' ? 'allow' : 'deny',
  ...(reason === null ? {} : { reason }),
  ...(editedInput === null
    ? {}
    : { hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: editedInput } }),
})

const opencodeShape = z.object({
  event: z.enum(['before', 'after']),
  sessionID: id,
  callID: id,
  cwd: place,
  tool: name,
  args: object,
  output: value,
})

const opencode: HookProgram = {
  read(body) {
    const { event, sessionID, callID, cwd, tool, args, output } = check(opencodeShape, body, [])
    const call = callOf('OPENCODE', { tool, input: args, cwd, session: sessionID, callId: callID })
    if (event === 'after') return { call, report: { output: output ?? null, isError: false } }
    return { call, takesEdits: 'ALL', render: opencodeAnswer }
  },
  refusal: (reason) => opencodeAnswer(refused(reason)),
}

const opencodeAnswer = ({ answer, reason, stop, editedInput }: AgentAnswer): JsonObject => ({
  decision: answer === 'ALLOW' ? 'allow' : 'deny',
  ...(stop ? { stop } : {}),
  ...(reason === null ? {} : { reason }),
  ...(editedInput === null ? {} : { args: editedInput }),
})

function callOf(
  agent: CodingAgent,
  { cwd, ...call }: Omit<AgentCall, 'agent' | 'cwd'> & { cwd?: string | null | undefined },
): AgentCall {
  return { agent, cwd: cwd ?? null, ...call }
}

/** By the name in the path. */
export const programs: Readonly<Record<string, HookProgram>> = {
  claude: hooksOf('CLAUDE'),
  codex: hooksOf('CODEX'),
  copilot,
  gemini,
  opencode,
}
