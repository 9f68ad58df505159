/**
 * The logger interface of Gatehouse, which the loggers of pino implement, and the parts of an error that are logged.
 */

export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Discards everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Error classes of Gatehouse whose messages contain no untrusted values. */
const ownClasses = new Set([
  'AppError',
  'StorageError',
  'ConnectionLostError',
  'CommitUnknownError',
  'NoConnectionError',
  'EgressError',
  'WithheldError',
])

/** Messages of the JavaScript engine about a fault in the code: they contain identifiers, never values. */
const engineMessages =
  /^(?:Cannot (?:read|set) properties of (?:undefined|null)\b|[\w.$]+ is not (?:a function|iterable|defined|a constructor)|Maximum call stack size exceeded|Invalid array length)/

/**
 * Classes of SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html) whose messages are about the
 * server, its connections, transactions, limits and identifiers. Messages of the other classes may quote a value.
 */
const serverClasses = new Set(['08', '25', '28', '3D', '40', '42', '53', '55', '57', '58', 'XX'])

const word = /^[\w.-]{1,60}$/
const maxFrames = 20
const maxCauses = 4

/**
 * The loggable parts of any thrown value. Errors of libraries carry user data: a model provider's error holds prompt,
 * response and API key, a query's its parameters. So only listed parts are taken: type, code, status, system call,
 * stack frames, and the same of up to four causes.
 */
export function loggable(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error }
  const facts = error as Error & Record<string, unknown>
  const shown: Record<string, unknown> = { type: word.test(error.name) ? error.name : 'Error' }
  for (const name of ['code', 'syscall', 'severity', 'routine', 'table', 'constraint'])
    if (typeof facts[name] === 'string' && word.test(facts[name])) shown[name] = facts[name]
  for (const name of ['status', 'statusCode', 'errno'])
    if (typeof facts[name] === 'number') shown[name] = facts[name]
  const message = messageOf(facts)
  if (message !== null) shown['message'] = message.slice(0, 500)
  shown['stack'] = framesOf(error)
  if (error.cause !== undefined && depth < maxCauses) shown['cause'] = loggable(error.cause, depth + 1)
  return shown
}

function messageOf(error: Error & Record<string, unknown>): string | null {
  const { name, message, code, syscall, severity } = error
  if (ownClasses.has(name) || engineMessages.test(message)) return message
  if (typeof syscall === 'string' && typeof code === 'string') return `${syscall} ${code}`
  const fromServer = typeof severity === 'string' && typeof code === 'string' && code.length === 5
  return fromServer && serverClasses.has(code.slice(0, 2)) ? message : null
}

/** The stack frames without the first line, which repeats the message. */
function framesOf({ stack, name, message }: Error): string[] {
  const head = `${name}: ${message}`
  const rest = stack?.startsWith(head) ? stack.slice(head.length) : (stack ?? '')
  return rest
    .split('\n')
    .filter((line) => line.startsWith('    at ') && line.length < 400)
    .slice(0, maxFrames)
    .map((line) => line.trim())
}
