/** Reads from the words of a provider which tools of a request it refuses, or how much of them it takes. Pure. */
import type { ToolRefusal } from '../port.ts'

/** A text that is longer has more than the reason in it, such as the whole request. */
const longest = 20_000

/**
 * What the texts of a refusal say of the tools that were sent, whose names are given in that order; null when they name no
 * tool and no limit. A later text is read only when those before it say nothing. A tool is named by its place
 * (`tools[3].parameters`, `tools.3.custom.name`, `"tools",3`, `function_declarations[3]`), or in quotes beside what it is.
 */
export function toolRefusalOf(texts: readonly string[], sent: readonly string[]): ToolRefusal | null {
  if (sent.length === 0) return null
  for (const text of texts.map((one) => one.slice(0, longest))) {
    const names = placesIn(text).flatMap((place) => sent[place] ?? [])
    const refusal: ToolRefusal = {
      names: names.length > 0 ? [...new Set(names)] : nameIn(text, sent),
      mostTools: firstNumber(mostTools, text),
      longestDescription: firstNumber(longestDescription, text),
    }
    if (refusal.names.length > 0 || refusal.mostTools !== null) return refusal
  }
  return null
}

const declaration = /function_?declarations\[(\d+)\]/gi
const place = /\btools(?:\[|\.|\/| -> |["'],\s*)(\d+)\b/gi

/** Gemini has one tool with all declarations, so the place of that tool says nothing. */
function placesIn(text: string): number[] {
  const inDeclarations = [...text.matchAll(declaration)]
  const found = inDeclarations.length > 0 ? inDeclarations : [...text.matchAll(place)]
  return found.map((match) => Number(match[1]))
}

const beside = [
  /\b(?:function|tool)(?: name| named| call)?:? ?(["'`])([\w.-]{1,128})\1/gi,
  /(["'`])([\w.-]{1,128})\1 (?:function|tool)/gi,
  /()\b([\w.-]{1,128}) functionDeclaration\b/g,
]

/** Only the first name counts: what follows may quote the schema, whose words are those of its author. */
function nameIn(text: string, sent: readonly string[]): string[] {
  const found = beside
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .filter((match) => sent.includes(match[2]!))
    .toSorted((a, b) => a.index - b.index)
  return found.slice(0, 1).map((match) => match[2]!)
}

const mostTools = [
  /\btools'?: array too long\. Expected an array with maximum length (\d+)/i,
  /\b(?:more than|at most|up to|maximum of) (\d+) (?:tools|functions|function declarations)\b/i,
]
const longestDescription = [
  /\btools(?:\[\d+\]|\.\d+)(?:\.function|\.custom)?\.description\b.{0,60}(?:maximum length|at most) (\d+)/i,
]

function firstNumber(patterns: RegExp[], text: string): number | null {
  for (const pattern of patterns) {
    const found = Number(pattern.exec(text)?.[1] ?? 0)
    if (found > 0) return found
  }
  return null
}
