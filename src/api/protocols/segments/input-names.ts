/** Faults that operations name by their own inputs, in the names of the protocol: each protocol states them once. */
import { AppError, invalid, type Issue } from '../../../core/errors.ts'

/** Inputs of the operations that protocols reach. */
export type InputName =
  | 'agentId'
  | 'messages'
  | 'attachments'
  | 'clientTools'
  | 'instructions'
  | 'toolChoice'
  | 'stepRules'
  | 'parallelToolCalls'
  | 'temperature'
  | 'maxOutputTokens'
  | 'outputSchema'
  | 'threadId'
  | 'externalThreadId'
  | 'idempotencyKey'
  | 'retryOf'
  | 'outputs'
  | 'arguments'
  | 'reason'
  | 'verdict'
  | 'expectedDigest'

/** Where the protocol has each input. A function gets what follows in the path; below a plain path that is left out. */
export type InputNames = Partial<Record<InputName, readonly string[] | ((rest: string[]) => string[])>>

/** Runs the operations, and throws what they refuse with the paths of the protocol. */
export async function inNamesOf<Result>(names: InputNames, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof AppError ? renamed(error, names) : error
  }
}

function renamed(error: AppError, names: InputNames): AppError {
  const { issues } = error.details
  if (!issues?.some(({ path }) => path[0] === 'input' && path.length > 1)) return error
  const theirs = issues.map((issue) => issueIn(issue, names))
  const message = error.code === 'INVALID' ? invalid(theirs).message : error.message
  return new AppError(error.code, message, { ...error.details, issues: theirs }, error)
}

function issueIn({ path, message }: Issue, names: InputNames): Issue {
  const [root, name, ...rest] = path
  const place = root === 'input' ? names[name as InputName] : undefined
  if (!place) return { path, message }
  return { path: typeof place === 'function' ? place(rest) : [...place], message }
}

/** The fields of a tool that a client gives, as most protocols name them. */
export function toolField([field, ...rest]: string[]): string[] {
  return field === undefined ? [] : [field === 'inputSchema' ? 'parameters' : field, ...rest]
}
