/** Regular expressions of foreign schemas, as JSON Schema has them: of JavaScript, with the flag `u`. Pure. */

/**
 * The same pattern in this dialect; undefined when it has no equal one, such as with inline flags. `(?i)` is not written as both
 * cases of each letter: which letters are equal differs by language and locale, and a pattern that refuses what the server takes
 * is worse than none.
 */
export function repairedPattern(pattern: string): string | undefined {
  if (isPattern(pattern)) return pattern
  const made = rewritten(pattern)
  return isPattern(made) ? made : undefined
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').source !== ''
  } catch {
    return false
  }
}

/** A pair of a backslash and a character, the bounds of a class, a quantifier, or one character. */
const tokens = /\\(?:[pPuk]\{[^}]*\}|[\s\S])|\(\?P<|\(\?[^:=!<]|[[\]]|\{\d+(?:,\d*)?\}|[\s\S]/gu
const escaped = /^\\[\^$\\.*+?()[\]{}|/]$/

/** Takes away escapes that mean nothing, adds those that are missing, and writes the names of Python and Perl as here. */
function rewritten(pattern: string): string {
  const parts = pattern.match(tokens) ?? []
  let inClass = false
  return parts
    .map((part, i) => {
      if (part === '[' && !inClass) return ((inClass = true), part)
      if (part === ']' && inClass) return ((inClass = false), part)
      if (part === '(?P<') return inClass ? '(?P<' : '(?<'
      if (part === '\\A') return '^'
      if (part === '\\Z' || part === '\\z') return '$'
      if (part === '\\-') return inClass ? part : '-'
      if (/^\\[^a-zA-Z0-9]$/u.test(part)) return escaped.test(part) ? part : part.slice(1)
      if (inClass) return part === '-' && isOfSets(parts, i) ? '\\-' : part === '[' ? '\\[' : part
      return part === '{' || part === '}' || part === ']' ? `\\${part}` : part
    })
    .join('')
}

/** Whether a hyphen is next to a set such as `\w`: then it is no range. */
function isOfSets(parts: string[], at: number): boolean {
  const isSet = (part: string | undefined) => part !== undefined && /^\\[dDsSwWpP]/.test(part)
  return isSet(parts[at - 1]) || isSet(parts[at + 1])
}
