/** Translates the paths of validation errors to the argument names of an MCP request. Pure. */
import { AppError } from '../../core/errors.ts'

const wireNames: Record<string, string> = {
  input: 'arguments',
  fileId: 'file_id',
  contentType: 'content_type',
}

/** The same error with paths as the client wrote them: `arguments`, `file_id`, `content_type`. */
export function withWireNames(error: unknown): unknown {
  if (!(error instanceof AppError) || !error.details.issues) return error
  const issues = error.details.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part, i) =>
      i === 0 || issue.path.includes('attachments') ? (wireNames[part] ?? part) : part,
    ),
  }))
  const [first] = issues
  const message = first ? `${first.path.join('.')}: ${first.message}` : error.message
  return new AppError(error.code, message, { ...error.details, issues })
}
