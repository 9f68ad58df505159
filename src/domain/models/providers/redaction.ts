/** Removes keys and addresses from a provider's text before people read it. */

import { shortText } from '../../../core/text.ts'

const longest = 300

const patterns = [
  // Addresses: URLs, host:port, IPv4.
  /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi,
  /\b(?:[a-z0-9-]+\.)*[a-z0-9-]+:\d{2,5}\b/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b/g,
  // Credentials: the vendors' prefixes, bearer tokens, and anything long that looks random.
  /\b(?:sk|pk|rk|gh|AIza|xai|gsk|key|token)[-_][\w*.-]{4,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\bbearer\s+\S+/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{32,}\b/gi,
]

/** A function that removes the given secrets and whatever looks like a key or an address, and limits the length. */
export function redactor(secrets: (string | null)[]): (text: string) => string {
  const known = secrets.filter((secret) => secret !== null && secret.length >= 4) as string[]
  return (text) => {
    let clean = shortText(text, 4_000)
    for (const secret of known) clean = clean.replaceAll(secret, '[hidden]')
    for (const pattern of patterns) clean = clean.replace(pattern, '[hidden]')
    return shortText(clean, longest)
  }
}
