/** The log of the process: JSON lines; of an error only what `loggable` returns. */
import { pino, type DestinationStream } from 'pino'
import { silentLog, type Log } from './core/log.ts'
import { loggable } from './core/loggable.ts'

/** Logs to standard output, or to `destination`. The level `silent` logs nothing. */
export function createLog(level: string, destination?: DestinationStream): Log {
  if (level === 'silent') return silentLog
  return pino({ level, serializers: { err: loggable } }, destination)
}
