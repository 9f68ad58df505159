/**
 * The environment as platforms give it: settings in files, the port of a hosting platform, and the variables that Kubernetes
 * puts beside ours. Pure, but for reading files.
 */
import { readFileSync } from 'node:fs'

export interface Environment {
  /** The settings by name, those of files with the content of the file; without white space around them. */
  values: Record<string, string | undefined>
  /** The name under which a value was given, where that is not its own. */
  given: Map<string, string>
  mistakes: string[]
}

/** Secrets of others that may be in a file, too. */
const foreignNames = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
]

/** Settings of the command line, which a shell that also starts the server may have. */
const commandLineNames = ['GATEHOUSE_URL', 'GATEHOUSE_KEY']

/**
 * Kubernetes names each Service of a namespace in the environment of its pods, also one that is called gatehouse:
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceLink =
  /^GATEHOUSE(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
const linkValue = /^(tcp|udp|sctp):\/\//

/**
 * Reads `NAME`, or the file that `NAME_FILE` names, for each known name; PORT for GATEHOUSE_PORT. White space around a value is
 * of the file or editor that it comes from, be it a line end of Windows. Quotation marks around one are a mistake: some platforms
 * keep those of an env file and others do not, so that nobody knows whether they are meant.
 */
export function readEnvironment(env: NodeJS.ProcessEnv, known: readonly string[]): Environment {
  const isLink = (name: string) =>
    serviceLink.test(name) ||
    (name.startsWith('GATEHOUSE_') && name.endsWith('_PORT') && linkValue.test(env[name]!))
  const values: Environment['values'] = Object.fromEntries(
    Object.entries(env).filter(([name]) => !isLink(name)),
  )
  const given = new Map<string, string>()
  const mistakes: string[] = []
  const own = [...known, ...foreignNames].flatMap((one) => [one, `${one}_FILE`])
  for (const name of values['GATEHOUSE_PORT']?.trim() ? own : [...own, 'PORT']) {
    const value = values[name]?.trim()
    if (value === undefined) continue
    values[name] = value
    if (isQuoted(value))
      mistakes.push(`${name} is in quotation marks, which are a part of it here: remove them`)
  }
  for (const name of [...known, ...foreignNames]) {
    const file = values[`${name}_FILE`]
    if (!file) continue
    given.set(name, `${name}_FILE`)
    if (values[name]) mistakes.push(`${name} and ${name}_FILE are both set: remove one`)
    else values[name] = contentOf(file, `${name}_FILE`, mistakes)
  }
  if (!values['GATEHOUSE_PORT'] && values['PORT']) {
    values['GATEHOUSE_PORT'] = values['PORT']
    given.set('GATEHOUSE_PORT', 'PORT')
  }
  const nodeEnv = values['NODE_ENV']?.trim().toLowerCase()
  if (nodeEnv !== 'production' && nodeEnv?.replace(/\W/g, '').startsWith('prod'))
    mistakes.push('NODE_ENV is not "production", which would start the demo: write it out')
  return {
    values: { ...values, NODE_ENV: nodeEnv },
    given,
    mistakes: [...mistakes, ...unknownNames(Object.keys(values), known)],
  }
}

const isQuoted = (value: string) => /^(["'`]).*\1$/s.test(value) && value.length > 1

function contentOf(file: string, name: string, mistakes: string[]): string | undefined {
  try {
    const content = readFileSync(file, 'utf8').trim()
    // Without it the server would start with the default, such as the embedded database.
    if (content === '') mistakes.push(`${name} names a file that is empty`)
    return content
  } catch (error) {
    mistakes.push(
      `${name} names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
    return undefined
  }
}

function unknownNames(names: readonly string[], known: readonly string[]): string[] {
  const all = new Set([...known, ...known.map((name) => `${name}_FILE`), ...commandLineNames])
  return names
    .filter((name) => name.startsWith('GATEHOUSE_') && !all.has(name))
    .map((name) => {
      const near = nearest(name, known)
      return `${name} is unknown${near ? `: did you mean ${near}?` : ''} (see docs/guides/configuration.md)`
    })
}

/** The name that needs the fewest changes of letters; null when none is near. */
function nearest(name: string, known: readonly string[]): string | null {
  const ranked = known.map((one) => ({ one, by: distance(name, one) })).toSorted((a, b) => a.by - b.by)
  return ranked[0] && ranked[0].by <= 4 ? ranked[0].one : null
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
