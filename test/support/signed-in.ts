/** People who sign in at an identity provider that exchanges their sign-ins, and a server of which they call a tool. */
import { expect } from 'vitest'
import { openTab, type Tab } from './cookie-jar.ts'
import { exchanger, exchangesAt, newExchanges, signerKey, type Exchanges } from './exchange.ts'
import type { Harness } from './harness.ts'
import { atProvider, startIdentityProvider, type IdentityProvider } from './identity-provider.ts'
import { openOwnLogins, type OwnLogins } from './own-logins.ts'

export interface SignedIn {
  tab: Tab
  /** The subject at the provider. */
  sub: string
  /** The id of the person. */
  id: string
  /** The secret of an API key that the person has made. */
  key: string
}

export interface ExchangingProvider extends IdentityProvider {
  exchanges: Exchanges
}

/** An identity provider on this port, at which people of these servers sign in. */
export async function startExchangingProvider(
  port: number,
  urls: string[],
  renews = false,
): Promise<ExchangingProvider> {
  const exchanges = newExchanges()
  const issuer = `http://127.0.0.1:${port}`
  const provider = await startIdentityProvider(
    port,
    urls.map((url) => `${url}/session/callback`),
    await exchangesAt(issuer, exchanges, renews),
  )
  return Object.assign(provider, { exchanges })
}

/** Signs a person in with a browser, a new one or the given. */
export async function signIn(
  h: Harness,
  provider: IdentityProvider,
  sub: string,
  tab = openTab(h.url),
  role = 'admin',
): Promise<Tab> {
  const { project } = (await h.gql('{ viewer { project { id } } }')).data['viewer']
  provider.person = {
    sub,
    claims: { gatehouse_project: project.id, gatehouse_role: role, name: sub },
  }
  const begun = await tab.fetch('/session/login', { origin: null })
  const ended = await tab.fetch(await atProvider(begun.headers.get('location')!, h.url), { origin: null })
  expect(ended.status).toBe(303)
  return tab
}

/** A person who has signed in and made a key. */
export async function addSignedIn(h: Harness, provider: IdentityProvider, sub: string): Promise<SignedIn> {
  const tab = await signIn(h, provider, sub)
  const made = await tab.gql(
    `mutation { createApiKey(input: { name: "of ${sub}", role: DEVELOPER }) { ... on ApiKeyPayload { secret } } }`,
  )
  const { data } = await tab.gql('{ viewer { id } }')
  return { tab, sub, id: data.viewer.id, key: made.data.createApiKey.secret }
}

/** Signs a person out of the browser. */
export async function signOut({ tab }: Pick<SignedIn, 'tab'>): Promise<void> {
  const { status } = await tab.fetch('/session', { method: 'DELETE' })
  expect(status).toBeLessThan(300)
}

/** The secrets of the clients `exchanger` and `signer`. */
export async function saveExchangeSecrets(h: Harness): Promise<void> {
  for (const [name, value] of [
    ['exchanger', exchanger.secret],
    ['signer', signerKey],
  ])
    await h.mutate('setSecret', { name, value }, 'secret { name }')
}

/** A tool whose server takes tokens of this issuer, for which sign-ins are exchanged. */
export async function openExchanging(
  h: Harness,
  issuer: string,
  more: { tokenExchange?: object; config?: object; input?: object } = {},
): Promise<OwnLogins> {
  const tokenExchange = { clientId: exchanger.id, clientSecret: 'exchanger', issuer, ...more.tokenExchange }
  return openOwnLogins(h, {
    issuer: { issuer } as never,
    config: { auth: { tokenExchange }, ...more.config },
    ...(more.input ? { input: more.input } : {}),
  })
}

/** Makes the sign-in of a person good for the tool, and waits until its actions are known. */
export async function begin(h: Harness, { toolId }: OwnLogins, { tab }: SignedIn): Promise<string> {
  const { data } = await tab.gql(
    `mutation { logInToUpstream(input: { toolId: "${toolId}" }) {
      ... on LogInToUpstreamPayload { url } ... on Error { message } } }`,
  )
  const { url, message } = data.logInToUpstream
  if (!url) throw new Error(message)
  const actions = `{ tool(id: "${toolId}") { ... on McpTool { actions { action } upstream { error { message } } } } }`
  await expect
    .poll(async () => (await h.gql(actions)).data['tool'])
    .toMatchObject({ actions: [{ action: 'echo' }] })
  return url
}
