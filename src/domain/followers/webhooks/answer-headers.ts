/** What is kept of the headers of an answer: few and short, without values that let somebody in. Pure. */
import { mask } from '../../../core/scrub.ts'

/** A header of an answer. */
export interface AnswerHeader {
  /** In lower case. */
  name: string
  /** `[masked]` where the name says that it is a secret. */
  value: string
}

/** The most headers of an answer, characters of each name and value, and characters of all together. */
export const mostHeaders = 20
const longestName = 100
const longestValue = 200
const mostCharacters = 1500

/** Names of headers whose values are secrets: those of standards, and what programs call their own. */
const secret = /cookie|auth|token|secret|password|api-?key|credential|session|signature|jwt/

/** The first headers of a response, as far as they fit. */
export function keptHeaders(headers: Headers): AnswerHeader[] {
  const kept: AnswerHeader[] = []
  let left = mostCharacters
  for (const [name, given] of headers) {
    const value = secret.test(name) ? mask : given.slice(0, longestValue)
    left -= name.length + value.length
    if (kept.length === mostHeaders || left < 0) break
    kept.push({ name: name.slice(0, longestName), value })
  }
  return kept
}
