/** Why a process could not start, as its operator reads it; an address is named by its setting. */
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

/** The settings that name a host and a port: the same one where it has both. */
export interface ListenSettings {
  host: string
  port: string
}

/**
 * What `listening` resolves to. Rejects with a ConfigError that names the setting to change, where one could help; else as it does.
 */
export async function namingSettings<Result>(
  listening: Promise<Result>,
  { host, port }: ListenSettings,
): Promise<Result> {
  try {
    return await listening
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const faults: Record<string, string> = {
      EADDRINUSE: `${port} names a port that is in use: choose another one`,
      EACCES: `${port} names a port that this user may not listen on: choose one from 1024 on`,
      EADDRNOTAVAIL: `${host} names an address that this machine does not have: 0.0.0.0 is all of them`,
      EAFNOSUPPORT: `${host} names an IPv6 address, and this machine has no IPv6: 0.0.0.0 is all addresses`,
      ENOTFOUND: `${host} names a host that is not found`,
      EAI_AGAIN: `${host} names a host that cannot be looked up now`,
    }
    const fault = code === undefined ? undefined : faults[code]
    throw fault === undefined ? error : new ConfigError([fault])
  }
}
