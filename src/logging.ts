/** The log of the process: JSON lines, with no more of an error than `loggable` takes. */
import { pino, type DestinationStream } from 'pino'
import { silentLog, type Log } from './core/log.ts'
import { loggable } from './core/loggable.ts'

/** To standard output, or to `destination`. `silent` says nothing. */
export function createLog(level: string, destination?: DestinationStream): Log {
  if (level === 'silent') return silentLog
  return pino({ level, serializers: { err: loggable } }, destination)
}
