/** What the APIs of OpenAI have in common: error bodies, the key of a request that may be repeated, and settings of a run. */
import { invalidAt, type AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { StartGenerationInput } from '../../../domain/generations/index.ts'
import type { AuthenticatedRequest } from '../../http/authenticated-api.ts'
import { statusOf } from '../../http/replies.ts'

/** The body of an error. The first input that is wrong is `param`. */
export function openaiError(error: AppError): object {
  const { code, details } = error
  const status = statusOf(error)
  const named = status === 413 ? 'request_too_large' : code.toLowerCase()
  const [issue] = details.issues ?? []
  const param = issue ? placeOf(issue.path) : null
  const message = issue && code === 'INVALID' ? `${param}: ${issue.message}` : error.message
  return { error: { message, type: typeOf(status), code: named, param } }
}

/** As OpenAI writes it: `tools[0].name`. */
export function placeOf(path: readonly string[]): string {
  return path.map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i > 0 ? `.${part}` : part)).join('')
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** The Idempotency-Key header, null without one. INVALID for an empty one, and beyond 200 characters. */
export function keyOf({ idempotencyKey: key }: AuthenticatedRequest): string | null {
  if (key !== null && (key.length === 0 || key.length > 200))
    throw invalidAt(['Idempotency-Key'], 'must have 1 to 200 characters')
  return key
}

export interface GivenSettings {
  /** Texts of system and developer messages; empty for none. */
  instructions: string
  functions: {
    name: string
    description?: string | null | undefined
    parameters?: JsonObject | null | undefined
  }[]
  choice?: 'auto' | 'none' | 'required' | { name: string } | null | undefined
  parallel?: boolean | null | undefined
  temperature?: number | null | undefined
  maxOutputTokens?: number | null | undefined
  outputSchema: JsonObject | null
}

/** The overrides of a run that starts with these settings. */
export function overridesOf(given: GivenSettings): Omit<StartGenerationInput, 'agentId'> {
  const { instructions, functions, choice, maxOutputTokens, outputSchema } = given
  const rule =
    choice === 'required'
      ? { mode: 'REQUIRED' as const }
      : typeof choice === 'object' && choice
        ? { tool: choice.name }
        : null
  return {
    ...(instructions ? { instructions } : {}),
    ...(functions.length > 0
      ? {
          clientTools: functions.map(({ name, description, parameters }) => ({
            name,
            description,
            inputSchema: parameters,
          })),
        }
      : {}),
    // In every step it would never end: OpenAI's tool_choice is about the first one.
    ...(rule ? { stepRules: [{ step: 1, toolChoice: rule }] } : {}),
    ...(choice === 'none' ? { toolChoice: { mode: 'NONE' as const } } : {}),
    ...(given.parallel === false ? { parallelToolCalls: false } : {}),
    ...(typeof given.temperature === 'number' ? { temperature: given.temperature } : {}),
    ...(maxOutputTokens ? { maxOutputTokens } : {}),
    ...(outputSchema ? { outputSchema } : {}),
  }
}
