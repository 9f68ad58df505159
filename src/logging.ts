/** The log of the process: JSON lines; of an error only what `loggable` returns. */
import { writeJson } from './core/json.ts'
import { BoundedMap } from './core/bounded.ts'
import { pino, type DestinationStream } from 'pino'
import { silentLog, type Log, loggable } from './core/log.ts'

/** Logs to standard output, or to `destination`. The level `silent` logs nothing. */
export function createLog(level: string, destination?: DestinationStream): Log {
  if (level === 'silent') return silentLog
  return withoutRepeats(pino({ level, serializers: { err: loggable } }, destination ?? standardOutput()))
}

/** Bytes of lines that wait for a full disk; further ones are left out. */
const mostWaiting = 1024 * 1024

/** Standard output, without which the server goes on: its disk may be full, and its reader gone. */
function standardOutput(): DestinationStream {
  process.stdout.on('error', () => {})
  const stream = pino.destination({ dest: 1, sync: true, maxLength: mostWaiting })
  return stream.on('error', () => {})
}

/** Equal warnings are one line in this time. Milliseconds. */
const repeatMs = 1000
const mostRemembered = 1000

/**
 * Writes of equal warnings, as in an outage of the database, one line a second. The next line of a kind says as
 * `repeated` how many were left out before it.
 */
function withoutRepeats(log: Log): Log {
  const told = new BoundedMap<string, { at: number; repeated: number }>(mostRemembered)
  const warn = (fields: object, message: string) => {
    const key = kindOf(fields, message)
    const before = told.get(key)
    const now = performance.now()
    if (before && now - before.at < repeatMs) return void before.repeated++
    told.set(key, { at: now, repeated: 0 })
    log.warn(before?.repeated ? { ...fields, repeated: before.repeated } : fields, message)
  }
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    error: (fields, message) => log.error(fields, message),
    warn,
  }
}

/** The message, the error and what else is told: a warning about another row is another one. */
function kindOf(fields: object, message: string): string {
  const { err, ...rest } = fields as { err?: unknown }
  return writeJson([message, err instanceof Error ? err.message : (err ?? null), rest])
}
