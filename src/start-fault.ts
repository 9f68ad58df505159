/** Why a process could not start, as its operator reads it. */
import { ConfigError } from './config.ts'
import { AppError } from './core/errors.ts'
import { isStorageError, UnusableDatabaseError } from './store/db/storage-error.ts'

/** Sentences for what an operator can fix, with every cause; the stack of any other error. */
export function startFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ([ConfigError, UnusableDatabaseError, AppError].some((kind) => error instanceof kind))
    return error.message
  if (error.name === 'DirectoryInUseError') return error.message
  if (isStorageError(error)) return messagesOf(error).join('\n  because: ')
  return error.stack ?? error.message
}

function messagesOf(error: Error): string[] {
  const messages: string[] = []
  // A failure of several addresses of a host has its reasons in `errors` and no message.
  for (let e: unknown = error; e instanceof Error; e = e.cause ?? (e as AggregateError).errors?.[0])
    if (e.message && !messages.includes(e.message)) messages.push(e.message)
  return messages
}
