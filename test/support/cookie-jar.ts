/** A browser tab on a page of the server: it keeps cookies and sends the headers that browsers add to a fetch. */
export interface Tab {
  cookies: Map<string, string>
  /** A request as from a page of `origin`, the server's own unless given. */
  fetch(path: string, init?: RequestInit & { origin?: string | null }): Promise<Response>
  /** A GraphQL operation with the cookies alone. */
  gql(query: string, variables?: object, init?: RequestInit & { origin?: string | null }): Promise<any>
  /** Signs in with a key; returns the status. */
  signIn(key: string): Promise<number>
}

export function openTab(url: string, cookies = new Map<string, string>()): Tab {
  const tab: Tab = {
    cookies,
    async fetch(path, { origin = url, ...init } = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(url + path, {
        redirect: 'manual',
        ...init,
        headers: {
          ...(cookie ? { cookie } : {}),
          ...(origin ? { origin } : {}),
          ...(init.headers as object),
        },
      })
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
        if (/max-age=0/i.test(line)) cookies.delete(name!)
        else cookies.set(name!, value!)
      }
      return response
    },
    async gql(query, variables = {}, init = {}) {
      const response = await tab.fetch('/graphql', {
        method: 'POST',
        ...init,
        headers: { 'content-type': 'application/json', ...(init.headers as object) },
        body: JSON.stringify({ query, variables }),
      })
      return { status: response.status, ...((await response.json()) as object) }
    },
    async signIn(key) {
      const response = await tab.fetch('/session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key }),
      })
      return response.status
    },
  }
  return tab
}
