/** OAuth login pages for upstreams: the confirmation, the callback, and the client metadata document. */
import type { IncomingMessage } from 'node:http'
import type { Services } from '../../domain/access/index.ts'
import {
  callbackPath,
  clientDocumentPath,
  clientMetadata,
  finishLogin,
  loginPath,
  type LoginOutcome,
} from '../../domain/upstream/index.ts'
import { browserOf, confirm, showLogin } from './login-page.ts'
import { givePage } from './pages.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type OpenRoute, type RouteGroup } from './route.ts'

const pages: Record<LoginOutcome, { status: number; title: string; message: string }> = {
  connected: {
    status: 200,
    title: 'Connected',
    message: 'The tool is connected. You can close this window.',
  },
  expired: {
    status: 400,
    title: 'This login has ended',
    message: 'It was already completed, took too long, or the tool was changed meanwhile. Connect it again.',
  },
  elsewhere: {
    status: 400,
    title: 'Not connected',
    message:
      'This login was not confirmed in this browser, so your account was not connected to anything. ' +
      'To connect it, open the link of the tool again and confirm it here.',
  },
  refused: {
    status: 400,
    title: 'Not connected',
    message: 'The authorization server refused, or you declined. Connect the tool again to retry.',
  },
  failed: {
    status: 502,
    title: 'Not connected',
    message: 'The authorization server sent no valid response. See the log of this server.',
  },
}

export function makeOauth(services: Services): RouteGroup {
  const routes: OpenRoute[] = [
    { method: 'GET', path: loginPath, head: true, isPage: true, run: (call) => showLogin(services, call) },
    { method: 'POST', path: loginPath, run: (call) => confirm(services, call) },
    { method: 'GET', path: clientDocumentPath, head: true, run: (call) => giveDocument(services, call) },
    {
      method: 'GET',
      path: callbackPath,
      head: true,
      isPage: true,
      async run({ request, response, url }) {
        const { status, title, message } = pages[await outcomeOf(services, request, url)]
        givePage(response, { status, title, html: `<p>${message}</p>` })
      },
    },
  ]
  return openRoutes(services.log, { routes })
}

async function outcomeOf(services: Services, request: IncomingMessage, url: URL): Promise<LoginOutcome> {
  try {
    return await finishLogin(services, url.searchParams, browserOf(services, request))
  } catch (error) {
    services.log.error({ err: error }, 'the OAuth callback of an upstream failed')
    return 'failed'
  }
}

/** The client ID metadata document: its URL is the client id for authorization servers that support it. */
function giveDocument({ publicUrl }: Services, { response }: OpenCall): void {
  const own = publicUrl()
  const body = { client_id: own + clientDocumentPath, ...clientMetadata(own) }
  sendJson(response, 200, body, { 'cache-control': 'public, max-age=3600' })
}
