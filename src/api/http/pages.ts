/** HTML pages for people: no script, no external resources, and no unescaped input. */
import type { ServerResponse } from 'node:http'
import { escapeMarkup } from '../../core/text.ts'

// Without form-action: browsers would also check it against every redirect of the login that the form starts.
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Sends a page. `html` is inserted unescaped: escape untrusted text in it. */
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

export function redirect(response: ServerResponse, location: string, cookies: string[] = []): void {
  const headers = { location, 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' }
  response.writeHead(303, { ...headers, ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}) }).end()
}

/** Untrusted text escaped for HTML, without control and bidirectional characters. */
export function escapeHtml(text: string): string {
  return escapeMarkup(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' '))
}

/** A paragraph of plain text. */
export const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>`
