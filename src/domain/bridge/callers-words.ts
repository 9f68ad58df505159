/** Faults of an operation in the words that an MCP caller wrote. Pure. */
import { AppError } from '../../core/errors.ts'

const words: Record<string, string> = { input: 'arguments', fileId: 'file_id', contentType: 'content_type' }

/** The caller wrote `arguments` as in S1, not the input of an operation of ours. */
export function inCallersWords(error: unknown): unknown {
  if (!(error instanceof AppError) || !error.details.issues) return error
  const issues = error.details.issues.map((issue) => ({
    ...issue,
    path: issue.path.map((part, i) =>
      i === 0 || issue.path.includes('attachments') ? (words[part] ?? part) : part,
    ),
  }))
  const [first] = issues
  const message = first ? `${first.path.join('.')}: ${first.message}` : error.message
  return new AppError(error.code, message, { ...error.details, issues })
}
