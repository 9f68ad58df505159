/** Errors of this API: `{error: {code, message, details}}`, with the paths of faults in the names of this API. */
import { AppError, invalid, type Issue } from '../../../core/errors.ts'

/** The body of an error reply. */
export function errorBody(given: AppError): object {
  const issues = given.details.issues?.map(inRestNames)
  // The message of INVALID names the first fault with its path.
  const { message } = issues && given.code === 'INVALID' ? invalid(issues) : given
  const { retryAfterMs, action, conflictingId, oldestCursor, newestCursor, removedAt } = given.details
  const details = {
    issues,
    retry_after_ms: retryAfterMs,
    action,
    conflicting_id: conflictingId,
    oldest_cursor: oldestCursor,
    newest_cursor: newestCursor,
    removed_at: removedAt,
  }
  const present = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
  const shown = Object.keys(present).length > 0 ? { details: present } : {}
  return { error: { code: given.code, message, ...shown } }
}

/** Settings whose own fields have names of ours too; below any other field are names that callers chose. */
const nested = new Set(['stepRules', 'stopConditions', 'toolChoice', 'outputs', 'messages'])
const renamed: Record<string, string> = {
  arguments: 'input',
  outputs: 'tool_outputs',
  idempotencyKey: 'Idempotency-Key',
  hasToolCall: 'tool_name',
}

/** A fault of an operation at the path that the caller of this API wrote. */
function inRestNames({ path, message }: Issue): Issue {
  if (path[0] !== 'input' || path.length === 1) return { path, message }
  const [first, ...rest] = path.slice(1) as [string, ...string[]]
  if (first === 'config') return { path: configPath(rest), message }
  return { path: [named(first), ...(nested.has(first) ? rest.map(named) : rest)], message }
}

function configPath([kind, field, ...rest]: string[]): string[] {
  if (kind === undefined || field === undefined) return ['type']
  if (field === 'inputSchema') return ['parameters', ...rest]
  if (kind === 'platform') return [field, ...rest]
  return [kind === 'http' ? 'execute' : kind, field, ...rest]
}

function named(name: string): string {
  return renamed[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
