/** A browser as far as it matters to logins: it follows redirects and keeps cookies. */

/** Answers the last page. `found` tells under which origin another one is really reached. */
export async function browse(
  start: string,
  found: Record<string, string> = {},
): Promise<{ url: string; status: number; text: string }> {
  const cookies = new Map<string, string>()
  let url = start
  for (let hops = 0; hops < 15; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { origin } = new URL(url)
    const reached = (found[origin] ?? origin) + url.slice(origin.length)
    const response = await fetch(reached, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0]!.split(/=(.*)/s)
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (!location) return { url, status: response.status, text: await response.text() }
    url = new URL(location, url).href
  }
  throw new Error('too many redirects')
}
