/** Plain pages for people: no script, nothing from elsewhere, and nothing reflected that is not escaped. */
import type { ServerResponse } from 'node:http'

// Where a form leads is not named here: browsers would hold against it every hop of a login behind it.
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Answers a page. `html` stands under the title as it is: escape what is not ours. */
export function givePage(
  response: ServerResponse,
  {
    status,
    title,
    html,
    headers = {},
  }: {
    status: number
    title: string
    html: string
    headers?: Record<string, string>
  },
): void {
  response
    .writeHead(status, { ...pageHeaders, ...headers })
    .end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
        '<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}' +
        'dt{color:#666}dd{margin:0 0 .5rem;font-weight:600;overflow-wrap:anywhere}</style>' +
        `<h1>${title}</h1>${html}</html>`,
    )
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A name as text of a page: nothing in it is markup, and nothing turns the direction of what follows. */
export function escaped(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').replace(/[&<>"']/g, (char) => entities[char]!)
}
