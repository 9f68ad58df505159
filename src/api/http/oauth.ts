/** OAuth login pages for upstreams: the confirmation, the callback, and the client metadata document. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Services } from '../../domain/access/index.ts'
import {
  callbackPath,
  clientDocumentPath,
  clientMetadata,
  finishLogin,
  loginPath,
  type LoginOutcome,
} from '../../domain/upstream/index.ts'
import { browserOf, serveLogin } from './login-page.ts'
import { givePage, pageHeaders } from './pages.ts'
import type { FileRoutes } from './server.ts'

/** The longest URL that is parsed, in characters. */
const maxUrl = 8192

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

export function makeOauth(services: Services): FileRoutes {
  return {
    serves: (path) => path === callbackPath || path === loginPath || path === clientDocumentPath,
    async serve(request, response) {
      const url = new URL((request.url ?? '/').slice(0, maxUrl), 'http://gatehouse.invalid')
      const allowed = url.pathname === loginPath ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']
      if (!allowed.includes(request.method ?? ''))
        return void response.writeHead(405, { allow: allowed.join(', ') }).end()
      if (url.pathname === loginPath) return serveLogin(services, request, response, url)
      if (url.pathname === clientDocumentPath) return giveDocument(services, request, response)
      // A link scanner sends HEAD, which must not complete the login.
      if (request.method === 'HEAD') return void response.writeHead(200, pageHeaders).end()
      const { status, title, message } = pages[await outcomeOf(services, request, url)]
      givePage(response, { status, title, html: `<p>${message}</p>` })
    },
  }
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
function giveDocument(services: Services, request: IncomingMessage, response: ServerResponse): void {
  const own = services.publicUrl()
  const body = JSON.stringify({ client_id: own + clientDocumentPath, ...clientMetadata(own) })
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' })
  response.end(request.method === 'HEAD' ? undefined : body)
}
