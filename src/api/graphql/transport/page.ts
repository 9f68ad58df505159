/** The GraphiQL page: served without other origins, never in a frame, and allowed to run its own script only (CSP). */
import { createHash } from 'node:crypto'
import type { Plugin } from 'graphql-yoga'
import { writeJson } from '../../../core/json.ts'

type GraphiQLRendererOptions = NonNullable<
  Parameters<typeof import('@graphql-yoga/render-graphiql').renderGraphiQL>[0]
>

interface Page {
  html: string
  policy: string
}

const pages = new Map<string, Promise<Page>>()

/** The HTML of the page, rendered once for the same options. The CSP allows its script by hash. */
export async function renderPage(options?: GraphiQLRendererOptions): Promise<string> {
  return (await pageOf(options)).html
}

function pageOf(options?: GraphiQLRendererOptions): Promise<Page> {
  const key = writeJson(options ?? {})
  const known = pages.get(key)
  if (known) return known
  const made = render(options)
  pages.set(key, made)
  // A module that could not be read is read again.
  made.catch(() => pages.delete(key))
  return made
}

async function render(options?: GraphiQLRendererOptions): Promise<Page> {
  // The page is 30 MB of memory: a server that does not show it does not load it.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const html = renderGraphiQL(options)
  const script = html.slice(html.indexOf('<script>') + '<script>'.length, html.lastIndexOf('</script>'))
  const hash = createHash('sha256').update(script).digest('base64')
  return { html, policy: policyOf(hash) }
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
    async onResponse({ response }) {
      if (!options || !response.headers.get('content-type')?.startsWith('text/html')) return
      response.headers.set('content-security-policy', (await pageOf(options)).policy)
      response.headers.set('x-frame-options', 'DENY')
      response.headers.set('referrer-policy', 'no-referrer')
    },
  }
}
