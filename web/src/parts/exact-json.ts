/** JSON that somebody writes: a number that cannot be kept as it is written is a fault and not a surprise. Pure. */
import { NumberRangeError, readJson } from '../../../src/core/exact-json.ts'
import { t } from '../texts/texts.tsx'

/** The value of a text. Throws when it is no JSON, and for a number beyond what is kept, such as 1e400. */
export function parseExactly(text: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    if (!(error instanceof NumberRangeError)) throw error
    throw new Error(t('{number} cannot be sent as it is written.', { number: error.token }), { cause: error })
  }
}
