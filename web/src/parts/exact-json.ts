/** JSON that somebody writes: a number that would become another one is a fault and not a surprise. Pure. */
import { t } from '../texts/texts.tsx'

/** What browsers of today tell of a value: how it was written. */
interface Written {
  source?: string
}

/**
 * The value of a text. Throws when it is no JSON, and for numbers that the page could only send as others: those without
 * an end, such as 1e400, and whole ones of so many digits that some would be lost.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, written?: Written) => {
    if (typeof value !== 'number' || isKept(value, written?.source)) return value
    throw new Error(t('{number} cannot be sent as it is written.', { number: written?.source ?? value }))
  })
}

function isKept(value: number, source: string | undefined): boolean {
  if (!Number.isFinite(value)) return false
  // A browser that does not tell how it was written cannot tell either whether digits are lost.
  const isWhole = source === undefined ? Number.isInteger(value) : /^-?\d+$/.test(source)
  return !isWhole || Number.isSafeInteger(value) || String(value) === source
}
