/** Bytes in JSON: base64, and data URLs (RFC 2397) with base64. Pure. */

/** The bytes of standard base64 with its padding; null for any other text. */
export function fromBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

/** The type and the base64 of a data URL; null for any other text. */
export function partsOfDataUrl(url: string): { contentType: string; base64: string } | null {
  const comma = url.indexOf(',')
  const head = /^data:([^;,]{1,100});base64$/i.exec(url.slice(0, Math.max(0, comma)))
  return head ? { contentType: head[1]!, base64: url.slice(comma + 1) } : null
}
