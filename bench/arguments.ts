/** Reads the command lines of `npm run bench` and `npm run bench:compare`. */

/** What to measure: names of measurements, all of them when none was given. */
export interface BenchArguments {
  names: string[]
  json: boolean
  /** How many runs `retention` makes and removes; null: its own number. */
  runs: number | null
}

/** Throws with the known names when one is unknown. */
export function benchArguments(words: string[], known: string[]): BenchArguments {
  const { names, options } = split(words, ['--json', '--runs'])
  assertKnown(names, known)
  const runs = options.has('--runs') ? Number(options.get('--runs')) : null
  if (runs !== null && (!Number.isInteger(runs) || runs < 1))
    throw new Error('--runs must be a whole number of at least 1.')
  return {
    names: names.length > 0 ? known.filter((name) => names.includes(name)) : known,
    json: options.has('--json'),
    runs,
  }
}

/** Two commits, how often each is measured, and what is measured. */
export interface CompareArguments {
  commits: [string, string]
  names: string[]
  rounds: number
}

/** `<commitA> <commitB> <names…> [--rounds=n]`. Throws with the usage when something is missing or unknown. */
export function compareArguments(words: string[], known: string[]): CompareArguments {
  const { names, options } = split(words, ['--rounds'])
  const [a, b, ...parts] = names
  if (!a || !b || parts.length === 0)
    throw new Error(
      `Usage: npm run bench:compare -- <commitA> <commitB> <names> [--rounds=3]. Names: ${known.join(', ')}.`,
    )
  assertKnown(parts, known)
  const rounds = Number(options.get('--rounds') ?? 3)
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error('--rounds must be a whole number of at least 1.')
  return { commits: [a, b], names: parts, rounds }
}

function split(words: string[], allowed: string[]) {
  const options = new Map<string, string>()
  const names: string[] = []
  for (const word of words) {
    if (!word.startsWith('--')) {
      names.push(word)
      continue
    }
    const [option, value = ''] = word.split('=', 2) as [string, string?]
    if (!allowed.includes(option))
      throw new Error(`Unknown option: ${option}. Known are ${allowed.join(', ')}.`)
    options.set(option, value)
  }
  return { names, options }
}

function assertKnown(names: string[], known: string[]): void {
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}. Known are ${known.join(', ')}.`)
}
