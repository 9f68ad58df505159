/**
 * Serves the dashboard: the files that the build wrote, from memory. They hold no data; the page asks the GraphQL API for
 * everything, with the session of whoever opens it.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { acceptedCodings } from './replies.ts'
import { pathOf, type RouteGroup } from './route.ts'

/** The headers of every file. The policy allows no inline script or style, no other origin, and no HTML from strings. */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}

/** Codings that the build writes beside a file, the smallest first. */
const codings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
  { name: 'identity', suffix: '' },
] as const
type Coding = (typeof codings)[number]['name']

interface Body {
  bytes: Buffer
  etag: string
}

/** One file in each of its codings; `identity` is always there. */
type Bodies = Partial<Record<Coding, Body>> & { identity: Body }

/**
 * Reads the files of a folder once. Returns null when the folder has no page: a server without the dashboard. A path
 * without an extension gets the page when the client asks for HTML, so that links to approvals and runs open it.
 */
export function makeWeb(folder: string): RouteGroup | null {
  const files = readFiles(folder)
  const page = files.get('/index.html')
  if (!page) return null
  files.delete('/index.html')
  const fileOf = (request: IncomingMessage, path: string) =>
    files.get(path) ?? (path === '/' || isDeepLink(request, path) ? page : null)
  return {
    serves: (path, request) => fileOf(request, path) !== null,
    serve(request, response) {
      const path = pathOf(request)
      const bodies = fileOf(request, path)!
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return void response.writeHead(405, { ...headers, allow: 'GET, HEAD' }).end()
      const type = types[bodies === page ? '.html' : extname(path)] ?? 'application/octet-stream'
      // The names of assets contain a hash of their content.
      const isAsset = path.startsWith('/assets/')
      const cache = isAsset ? 'public, max-age=31536000, immutable' : 'no-cache'
      give(request, response, bodies, { 'content-type': type, 'cache-control': cache })
    },
  }
}

function isDeepLink({ headers: { accept } }: IncomingMessage, path: string): boolean {
  return extname(path) === '' && /\btext\/html\b/.test(accept ?? '')
}

function give(
  request: IncomingMessage,
  response: ServerResponse,
  bodies: Bodies,
  own: Record<string, string>,
): void {
  const accepted = acceptedCodings(request.headers['accept-encoding'])
  const coding = codings.find(({ name }) => accepted.has(name) && bodies[name])?.name ?? 'identity'
  const { bytes, etag } = bodies[coding] ?? bodies.identity
  const all = { ...headers, ...own, etag, vary: 'accept-encoding' }
  if (tagsOf(request.headers['if-none-match']).includes(etag)) return void response.writeHead(304, all).end()
  response.writeHead(200, {
    ...all,
    'content-length': bytes.length,
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  })
  response.end(bytes)
}

const tagsOf = (header: string | undefined) => (header ?? '').split(',').map((tag) => tag.trim())

/** Every file of the folder by its path, `/assets/…` included; none when the folder does not exist. */
function readFiles(folder: string): Map<string, Bodies> {
  const files = new Map<string, Bodies>()
  for (const name of namesIn(folder)) {
    if (!types[extname(name)]) continue
    const identity = bodyOf(join(folder, name))!
    const bodies: Bodies = { identity }
    for (const { name: coding, suffix } of codings.filter((one) => one.suffix !== '')) {
      const body = bodyOf(join(folder, name + suffix))
      if (body) bodies[coding] = body
    }
    files.set(`/${name}`, bodies)
  }
  return files
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    )
  } catch {
    return []
  }
}

function bodyOf(path: string): Body | null {
  try {
    const bytes = readFileSync(path)
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
  } catch {
    return null
  }
}
