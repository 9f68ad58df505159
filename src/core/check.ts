/** Validation of inputs with zod; faults become an AppError with code INVALID. */
import { z } from 'zod'
import { invalid, type Issue } from './errors.ts'
import { isJsonObject, jsonTooBig, type JsonObject } from './json.ts'

/**
 * Returns the parsed value. Throws INVALID with at most 20 faults, each with its path under `root`; values are never
 * echoed.
 */
export function check<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  root: readonly string[] = ['input'],
): z.output<Shape> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  throw invalid(issuesOf(result.error, root))
}

function issuesOf(error: z.ZodError, root: readonly string[]): Issue[] {
  return error.issues.slice(0, 20).map((issue) => ({
    path: [...root, ...issue.path.map(String)],
    message: issue.message,
  }))
}

/** A string of `min` to `max` characters. */
export function text(max: number, min = 0): z.ZodString {
  const made = z.string().max(max, `must have at most ${max} characters`)
  return min > 0 ? made.min(min, `must have at least ${min} character${min > 1 ? 's' : ''}`) : made
}

/** An integer from `min` to `max`. */
export function whole(min: number, max: number): z.ZodNumber {
  const message = `must be a whole number from ${min} to ${max}`
  return z.int(message).min(min, message).max(max, message)
}

/** A JSON object no larger and no deeper than the limits. */
export function jsonObject(maxBytes: number, maxDepth: number): z.ZodType<JsonObject> {
  return z.custom<JsonObject>().superRefine((value, at) => {
    const fault = isJsonObject(value) ? jsonTooBig(value, { maxBytes, maxDepth }) : 'must be a JSON object'
    if (fault) at.addIssue({ code: 'custom', message: fault })
  })
}
