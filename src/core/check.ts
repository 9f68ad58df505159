/**
 * Validation of inputs with zod; faults become an AppError with code INVALID. What is searched for is such an input.
 */
import { z } from 'zod'
import { shortText } from './text.ts'
import { invalid, type Issue, invalidAt } from './errors.ts'
import { isJsonObject, type JsonObject, jsonTooBig, NumberRangeError, packText, readJson } from './json.ts'
import { scalar } from './shapes.ts'

/**
 * Returns the parsed value. Throws INVALID with at most 20 faults, each with its path under `root`; values are never
 * echoed.
 */
export function check<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  root: readonly string[] = ['input'],
): z.output<Shape> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  throw invalid(issuesOf(result.error, root))
}

/** At most 20 faults, each with its path under `root`. A field that the shape does not have is one, at its own path. */
function issuesOf(error: z.ZodError, root: readonly string[]): Issue[] {
  return error.issues.flatMap((issue) => issuesAt(issue, root)).slice(0, 20)
}

function issuesAt(issue: z.core.$ZodIssue, root: readonly string[]): Issue[] {
  const path = [...root, ...issue.path.map(String)]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, shortText(key, 80)],
      message: 'is not supported here',
    }))
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const forms = issue.errors.filter((faults) => faults.length > 0)
    // A form that fits but for something inside is the one that was meant.
    const meant = forms.find((faults) => faults.every((one) => one.path.length > 0))
    if (meant) return meant.flatMap((one) => issuesAt(one, path))
    const messages = [...new Set(forms.map(([first]) => first!.message))]
    if (messages.length > 0) return [{ path: placeOf(path), message: messages.join(', or ') }]
  }
  return [{ path: placeOf(path), message: issue.message }]
}

/** A path is never empty: messages begin with it. */
const placeOf = (path: string[]) => (path.length > 0 ? path : ['body'])

/**
 * The first number in a text of JSON that cannot be kept exactly, with its path under `root`; null when there is none, or the
 * text is no JSON.
 */
export function numberIssue(json: string, root: readonly string[] = []): Issue | null {
  if (packText(json) === json) return null
  try {
    readJson(json)
    return null
  } catch (error) {
    return error instanceof NumberRangeError
      ? { path: [...root, ...error.path], message: error.message }
      : null
  }
}

/** A string of `min` to `max` characters. */
export function text(max: number, min = 0): z.ZodString {
  const made = z.string().max(max, `must have at most ${max} characters`)
  return min > 0 ? made.min(min, `must have at least ${min} character${min > 1 ? 's' : ''}`) : made
}

/** An integer from `min` to `max`. */
export function whole(min: number, max: number): z.ZodNumber {
  const message = `must be a whole number from ${min} to ${max}`
  return z.int(message).min(min, message).max(max, message)
}

/** A JSON object no larger and no deeper than the limits. */
export function jsonObject(maxBytes: number, maxDepth: number): z.ZodType<JsonObject> {
  const shape = z.custom<JsonObject>().superRefine((value, at) => {
    const fault = isJsonObject(value) ? jsonTooBig(value, { maxBytes, maxDepth }) : 'must be a JSON object'
    if (fault) at.addIssue({ code: 'custom', message: fault })
  })
  return scalar('JSONObject', shape)
}

/** Characters of scripts that write words without spaces: each is a word. */
const single = '\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff'
const pattern = new RegExp(`[${single}]|(?:(?![${single}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

/** The length at which a word is cut, in characters: for a search as well as for what is searched. */
const longestWord = 64

/**
 * The words of a text in its order: letters and digits in lower case; everything else separates them, so no word has a
 * meaning in a query language.
 */
export function wordsOf(said: string): string[] {
  const words = said.normalize('NFKC').toLowerCase().match(pattern) ?? []
  return words.map((word) => (word.length > longestWord ? cut(word) : word))
}

/** Never inside a character: no database holds half of one. */
function cut(word: string): string {
  return word.slice(0, longestWord).replace(/[\ud800-\udbff]$/, '')
}

const searchShape = z.object({ search: text(200) })

/** The words of the field `search` of a filter. INVALID for more than 200 characters, and without a letter or digit. */
export function searchedWords(search: string): string[] {
  check(searchShape, { search }, ['filter'])
  const words = wordsOf(search)
  if (words.length > 0) return words
  throw invalidAt(['filter', 'search'], 'must have a letter or a digit: other characters are not searched')
}
