/** The GraphiQL page: served without other origins, never in a frame, and allowed to run its own script only (CSP). */
import { createHash } from 'node:crypto'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import type { Plugin } from 'graphql-yoga'

type GraphiQLRendererOptions = NonNullable<Parameters<typeof renderGraphiQL>[0]>

const pages = new Map<string, { html: string; policy: string }>()

/** The HTML of the page, rendered once for the same options. The CSP allows its script by hash. */
export function renderPage(options?: GraphiQLRendererOptions): string {
  return pageOf(options).html
}

function pageOf(options?: GraphiQLRendererOptions): { html: string; policy: string } {
  const key = JSON.stringify(options ?? {})
  const known = pages.get(key)
  if (known) return known
  const html = renderGraphiQL(options)
  const script = html.slice(html.indexOf('<script>') + '<script>'.length, html.lastIndexOf('</script>'))
  const hash = createHash('sha256').update(script).digest('base64')
  const made = { html, policy: policyOf(hash) }
  pages.set(key, made)
  return made
}

function policyOf(scriptHash: string): string {
  return [
    "default-src 'none'",
    `script-src 'sha256-${scriptHash}' blob:`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Yoga plugin: sets the security headers of the page. `options` null: no page is served. */
export function pageHeaders(options: GraphiQLRendererOptions | null): Plugin {
  return {
    onResponse({ response }) {
      if (!options || !response.headers.get('content-type')?.startsWith('text/html')) return
      response.headers.set('content-security-policy', pageOf(options).policy)
      response.headers.set('x-frame-options', 'DENY')
      response.headers.set('referrer-policy', 'no-referrer')
    },
  }
}
