/** People with logins of their own at one protected upstream, of which every call is recorded with the account of its token. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { browse, type Jar } from './browser.ts'
import { openTab } from './cookie-jar.ts'
import { protect, startAuthorizationServer, type AuthorizationServer } from './authorization-server.ts'
import type { Harness } from './harness.ts'
import { startModern, type ModernServer } from './upstream-servers.ts'

export interface Person {
  name: string
  key: string
  keyId: string
}

export interface OwnLogins {
  issuer: AuthorizationServer
  server: ModernServer
  toolId: string
  /** The account and the argument `message` of each call that the server has run. */
  calls: { account: string; message: unknown; token: string }[]
  close(): Promise<void>
}

/** The claims of a token. */
const claimsOf = (authorization: string) =>
  JSON.parse(Buffer.from(authorization.split('.')[1]!, 'base64url').toString()) as {
    sub: string
    exp: number
  }

/** A tool with the login of each person, at a server of its own. */
export async function openOwnLogins(
  h: Harness,
  more: { issuer?: AuthorizationServer; config?: object; input?: object } = {},
): Promise<OwnLogins> {
  const issuer = more.issuer ?? (await startAuthorizationServer(`${h.url}/oauth/callback`))
  const server = await startModern()
  const calls: OwnLogins['calls'] = []
  protect(server, issuer.issuer)
  const believing = server.guard!
  server.guard = async (request, response, body) => {
    if (await believing(request, response, body)) return true
    if (!body.includes('"tools/call"')) return false
    const token = request.headers.authorization!
    const { params } = JSON.parse(body) as { params: { arguments?: { message?: unknown } } }
    calls.push({ account: claimsOf(token).sub, message: params.arguments?.message, token })
    return false
  }
  server.tools.set('echo', {
    tool: { name: 'echo' },
    run: () => ({ content: [{ type: 'text', text: 'echoed' }] }),
  })
  const auth = { authorizationCode: { clientId: 'people', issuer: issuer.issuer, scopes: ['mcp:read'] } }
  const config = { mcp: { url: server.url, auth, login: 'PER_PERSON', ...more.config } }
  const name = `own${randomUUID().slice(0, 8)}`
  const { tool, ...refused } = await h.mutate('createTool', { name, config, ...more.input }, 'tool { id }')
  if (!tool) throw new Error(JSON.stringify(refused))
  return {
    issuer,
    server,
    toolId: tool.id,
    calls,
    async close() {
      await server.kill()
      if (!more.issuer) await issuer.close()
    },
  }
}

export async function addPerson(h: Harness, name: string, more: object = {}): Promise<Person> {
  const { apiKey, secret } = await h.mutate(
    'createApiKey',
    { name, role: 'DEVELOPER', ...more },
    'secret apiKey { id }',
  )
  return { name, key: secret, keyId: apiKey.id }
}

/** The page at the end of a login, in a browser that is signed in as `as`. */
export async function logIn(
  h: Harness,
  { issuer, toolId }: Pick<OwnLogins, 'issuer' | 'toolId'>,
  person: Person,
  as: Person | null = person,
) {
  const { url, ...refused } = await h.mutate('logInToUpstream', { toolId }, 'url', person.key)
  if (!url) throw new Error(JSON.stringify(refused))
  const cookies: Jar = new Map()
  if (as) await openTab(h.url, cookies).signIn(as.key)
  issuer.account = person.name
  const page = await browse(url, {}, cookies)
  // The first login of all lets the server read the list of actions.
  if (page.status === 200)
    await expect
      .poll(() => h.gql(actionsOf, { id: toolId }))
      .toMatchObject({
        data: { tool: { actions: [{ action: 'echo' }] } },
      })
  return page
}

const actionsOf = 'query($id: ID!) { tool(id: $id) { ... on McpTool { actions { action } } } }'

/** Calls the tool of `logins` for a person. */
export async function call(h: Harness, { toolId }: OwnLogins, person: Pick<Person, 'key'>, message: string) {
  const input = { toolId, action: 'echo', arguments: { message } }
  const made = await h.mutate('callTool', input, `toolCall { ${fields} }`, person.key)
  if (!made['toolCall']) throw new Error(JSON.stringify(made))
  return made['toolCall']
}

const fields =
  'id status errorCode attempt content approval { id status requirement { loginOf } votes { via by } }'

/** The call as it is now. */
export async function callOf(h: Harness, id: string) {
  const { data } = await h.gql(`query($id: ID!) { toolCall(id: $id) { ${fields} } }`, { id })
  return data['toolCall']
}
