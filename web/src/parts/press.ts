/** The idempotency key of a press: kept while its outcome is not known, so that a retry cannot call twice. Pure. */
export interface Press {
  key: string
  /** What is asked; another question is another press. */
  body: string
}

/** The press to send: the earlier one when it asked the same and was not answered. */
export function pressFor(earlier: Press | null, body: string, makeKey: () => string): Press {
  return earlier?.body === body ? earlier : { key: makeKey(), body }
}

/** A random key. Pages over plain HTTP have no randomUUID. */
export const randomKey = (): string =>
  `web_${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
