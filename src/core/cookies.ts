/** Cookies of this server, and whether a request comes from one of its own pages. Pure. */

/** With https, the prefix `__Host-` prevents another subdomain from setting the cookie. */
export function cookieName(name: string, publicUrl: string): string {
  return isSecure(publicUrl) ? `__Host-${name}` : name
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/**
 * The value of a cookie in a Cookie header; null when there is none. Null also when the header has several of that
 * name: another site may have set one of them, and nobody knows which.
 */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim().split(/=(.*)/s))
    .filter(([key]) => key === name)
  return values.length === 1 ? (values[0]![1] ?? '') : null
}

export interface NewCookie {
  /** The full name, from cookieName. */
  name: string
  value: string
  maxAgeSeconds: number
  /** Lax: sent on a navigation from another site, as at the end of a login; Strict: never from another site. */
  sameSite: 'Lax' | 'Strict'
}

/** The Set-Cookie header of a cookie that no script can read. */
export function setCookie({ name, value, maxAgeSeconds, sameSite }: NewCookie, publicUrl: string): string {
  const secure = isSecure(publicUrl) ? '; Secure' : ''
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure}`
}

/** Which pages may call without a preflight: those of the server at its public URL, and those of configured origins. */
export interface OriginRules {
  corsOrigins: readonly string[]
  publicUrl(): string
}

/**
 * Whether a request may come from where it comes from: a program, which sends no Origin, a page of a configured origin, or one
 * of this server. The Host header must have been checked before.
 */
export function isAllowedOrigin(
  { origin, host }: { origin?: string | undefined; host?: string | undefined },
  { corsOrigins, publicUrl }: OriginRules,
): boolean {
  return origin === undefined || corsOrigins.includes(origin) || isOwnPage(origin, host, publicUrl())
}

/** A page at the public URL, also where a proxy passes on another Host, or at the host to which the request was sent. */
function isOwnPage(origin: string, host: string | undefined, publicUrl: string): boolean {
  if (!URL.canParse(origin)) return false
  const from = new URL(origin)
  return from.host === host || (URL.canParse(publicUrl) && from.origin === new URL(publicUrl).origin)
}

/**
 * Whether an Origin header names this server: the origin of its public URL, or the host to which the request was sent,
 * with the scheme of the public URL. The Host header must have been checked before.
 */
export function isOwnOrigin(
  origin: string | undefined,
  host: string | undefined,
  publicUrl: string,
): boolean {
  if (origin === undefined || !URL.canParse(publicUrl)) return false
  return isOwnPage(origin, host, publicUrl) && new URL(origin).protocol === new URL(publicUrl).protocol
}
