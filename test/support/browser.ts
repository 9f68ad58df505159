/** A browser as far as logins need one: it follows redirects, keeps cookies, and submits every form. */

/** Cookies by name. Each jar is one browser. */
export type Jar = Map<string, string>

interface Page {
  url: string
  status: number
  text: string
}

/** Returns the last page. `found` maps another origin to the one where it is really reached. */
export async function browse(
  start: string,
  found: Record<string, string> = {},
  cookies: Jar = new Map(),
): Promise<Page> {
  let url = start
  let form: URLSearchParams | null = null
  for (let hops = 0; hops < 15; hops++) {
    const { response, text } = await request(url, form, found, cookies)
    form = null
    const location = response.headers.get('location')
    const next = location ? null : formOf(text)
    if (!location && !next) return { url, status: response.status, text }
    url = new URL(location ?? next!.action, url).href
    form = next?.fields ?? null
  }
  throw new Error('too many redirects')
}

/** Opens the link of a login and confirms it. Returns the URL to which the browser is sent, without opening it. */
export async function confirmLogin(link: string, cookies: Jar = new Map()): Promise<string> {
  const page = await request(link, null, {}, cookies)
  const form = formOf(page.text)
  if (!form) throw new Error(`there is nothing to confirm: ${page.text}`)
  const { response } = await request(new URL(form.action, link).href, form.fields, {}, cookies)
  return response.headers.get('location') ?? ''
}

async function request(
  url: string,
  form: URLSearchParams | null,
  found: Record<string, string>,
  cookies: Jar,
): Promise<{ response: Response; text: string }> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const { origin } = new URL(url)
  const reached = (found[origin] ?? origin) + url.slice(origin.length)
  const response = await fetch(reached, {
    redirect: 'manual',
    headers: { cookie },
    ...(form ? { method: 'POST', body: form } : {}),
  })
  for (const line of response.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0]!.split(/=(.*)/s)
    cookies.set(name!, value!)
  }
  return { response, text: await response.text() }
}

/** The form of a page, with its hidden fields. */
function formOf(html: string): { action: string; fields: URLSearchParams } | null {
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1]
  if (!action) return null
  const hidden = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return { action, fields: new URLSearchParams([...hidden].map(([, name, value]) => [name!, value!])) }
}
