/** What is logged of an error: what kind it is and where it happened, and its words only where they are surely ours. */

/** Errors of our own making: their messages hold no value of a stranger. */
const ours = new Set([
  'AppError',
  'StorageError',
  'ConnectionLostError',
  'CommitUnknownError',
  'NoConnectionError',
  'EgressError',
  'WithheldError',
])

/** What the engine says of a fault in our code: names of our own, never values. */
const engineWords =
  /^(?:Cannot (?:read|set) properties of (?:undefined|null)\b|[\w.$]+ is not (?:a function|iterable|defined|a constructor)|Maximum call stack size exceeded|Invalid array length)/

/**
 * Classes of SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html) whose messages speak of the server,
 * its connections, transactions, limits and names; those of the others may quote a value.
 */
const serverClasses = new Set(['08', '25', '28', '3D', '40', '42', '53', '55', '57', '58', 'XX'])

const word = /^[\w.-]{1,60}$/
const maxFrames = 20
const maxCauses = 4

/**
 * Foreign errors carry what they failed on: a provider's holds prompt, answer and key, a query's its parameters. So only
 * listed parts are taken: type, code, status, system call, place in the code, and the same of its causes.
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
  if (ours.has(name) || engineWords.test(message)) return message
  if (typeof syscall === 'string' && typeof code === 'string') return `${syscall} ${code}`
  const fromServer = typeof severity === 'string' && typeof code === 'string' && code.length === 5
  return fromServer && serverClasses.has(code.slice(0, 2)) ? message : null
}

/** The stack without its head, which repeats the message. */
function framesOf({ stack, name, message }: Error): string[] {
  const head = `${name}: ${message}`
  const rest = stack?.startsWith(head) ? stack.slice(head.length) : (stack ?? '')
  return rest
    .split('\n')
    .filter((line) => line.startsWith('    at ') && line.length < 400)
    .slice(0, maxFrames)
    .map((line) => line.trim())
}
