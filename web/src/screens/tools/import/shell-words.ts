/** The words of a shell command, as far as a pasted one needs it: quotes, escapes and lines that go on. Pure. */

/** Characters that end a command. */
const endings = new Set([';', '|', '&', '>', '<', '\n'])

export interface ShellWords {
  words: string[]
  /** The text behind the command, which is not read; empty: none. */
  behind: string
  /** Variables and commands inside of words, which only a shell could fill in. */
  variables: string[]
}

/** Words are joined from pieces: `a'b'"c"` is one. A quote without its end goes to the end of the text. */
export function shellWords(text: string): ShellWords {
  const source = text.replaceAll('\r\n', '\n').trim()
  const words: string[] = []
  const variables: string[] = []
  let word: string | null = null
  let at = 0
  while (at < source.length) {
    const char = source[at]!
    if (char === '\\' && source[at + 1] === '\n') at += 2
    else if (endings.has(char)) break
    else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
      at++
    } else {
      const piece = pieceAt(source, at)
      word = (word ?? '') + piece.text
      variables.push(...piece.variables)
      at = piece.end
    }
  }
  if (word !== null) words.push(word)
  return { words, behind: source.slice(at).trim(), variables: [...new Set(variables)] }
}

interface Piece {
  text: string
  end: number
  variables: string[]
}

// Sticky, so that a long text is not copied for each of its pieces.
const plainWord = /[^\s'"\\;|&<>]+/y
const double = /((?:[^"\\]|\\[\s\S])*)"?/y
const single = /((?:[^'\\]|\\[\s\S])*)'?/y

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

function pieceAt(source: string, at: number): Piece {
  const char = source[at]
  if (char === "'") return quoted(source, at + 1)
  if (char === '"') return inDouble(source, at + 1)
  if (char === '$' && source[at + 1] === "'") return inAnsi(source, at + 2)
  if (char === '\\') return { text: source[at + 1] ?? '', end: at + 2, variables: [] }
  const plain = matchAt(plainWord, source, at)?.[0] ?? char!
  // A second $' begins a piece of its own.
  const cut = plain.endsWith('$') && plain.length > 1 && source[at + plain.length] === "'" ? -1 : undefined
  const text = plain.slice(0, cut)
  return { text, end: at + text.length, variables: variablesIn(text) }
}

function quoted(source: string, from: number): Piece {
  const end = source.indexOf("'", from)
  return end < 0
    ? { text: source.slice(from), end: source.length, variables: [] }
    : { text: source.slice(from, end), end: end + 1, variables: [] }
}

function inDouble(source: string, from: number): Piece {
  const match = matchAt(double, source, from)!
  const raw = match[1]!
  const text = raw.replaceAll(/\\(["\\$`\n])/g, (_all, escaped: string) => (escaped === '\n' ? '' : escaped))
  return {
    text,
    end: from + match[0].length,
    variables: variablesIn(raw.replaceAll(/\\[\s\S]/g, '')),
  }
}

const ansi: Record<string, string> = { n: '\n', r: '\r', t: '\t', '0': '\0', b: '\b', f: '\f', v: '\v' }

/** `$'…'`, which browsers copy: with escapes such as \n and \u0021. */
function inAnsi(source: string, from: number): Piece {
  const match = matchAt(single, source, from)!
  const text = match[1]!.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g,
    (_all, unicode?: string, hex?: string, char?: string) =>
      char === undefined ? String.fromCharCode(parseInt((unicode ?? hex)!, 16)) : (ansi[char] ?? char),
  )
  return { text, end: from + match[0].length, variables: [] }
}

const variablesIn = (text: string): string[] =>
  [...text.matchAll(/\$(?:\{[^}]{0,99}\}|\([^)]{0,99}\)|[A-Za-z_]\w{0,99})|`[^`]{0,99}`/g)].map(
    (match) => match[0],
  )
