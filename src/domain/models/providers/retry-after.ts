/** When a provider asks to be called again: from its headers, or from Google's error details. */

/** Longest accepted pause, in milliseconds: one day. */
const longestMs = 24 * 60 * 60 * 1000

/**
 * Milliseconds to wait; null when the response does not say. `retry-after-ms` takes precedence over `retry-after`
 * (seconds or an HTTP date), and that over `retryDelay` in the body. A date is compared with the response's own `date`, because
 * clocks differ; without one, with this process's. Header names are lower case.
 */
export function retryAfterOf(
  headers: Record<string, string>,
  body: string,
  now: number = dateOf(headers['date']) ?? Date.now(),
): number | null {
  const candidates = [
    numberOf(headers['retry-after-ms']),
    seconds(numberOf(headers['retry-after'])),
    until(headers['retry-after'], now),
    seconds(numberOf(/"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1])),
  ]
  const found = candidates.find((ms) => ms !== null && ms >= 0)
  return found === undefined || found === null ? null : Math.min(Math.round(found), longestMs)
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null
}

function seconds(value: number | null): number | null {
  return value === null ? null : value * 1000
}

function until(text: string | undefined, now: number): number | null {
  const at = dateOf(text)
  return at === null ? null : Math.max(0, at - now)
}

function dateOf(text: string | undefined): number | null {
  const at = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? null : at
}
