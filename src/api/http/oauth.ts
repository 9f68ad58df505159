/** Where people go out to authorization servers and come back from them, and what those may know of us. */
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

/** A callback longer than this is no callback, in characters. */
const maxUrl = 8192

const pages: Record<LoginOutcome, { status: number; title: string; words: string }> = {
  connected: {
    status: 200,
    title: 'Connected',
    words: 'The tool is connected. You can close this window.',
  },
  expired: {
    status: 400,
    title: 'This login is over',
    words: 'It was finished before, took too long, or the tool was changed meanwhile. Connect it again.',
  },
  elsewhere: {
    status: 400,
    title: 'Not connected',
    words:
      'This login was not confirmed in this browser, so your account was not attached to anything. Open the link of the tool again and confirm it here, if that is what you want.',
  },
  refused: {
    status: 400,
    title: 'Not connected',
    words:
      'The authorization server did not let you in, or you said no. Connect the tool again to try once more.',
  },
  failed: {
    status: 502,
    title: 'Not connected',
    words: 'The authorization server gave no usable answer. The log of the server says more.',
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
      // A HEAD of a link scanner must not use the login up.
      if (request.method === 'HEAD') return void response.writeHead(200, pageHeaders).end()
      const { status, title, words } = pages[await outcomeOf(services, request, url)]
      givePage(response, { status, title, html: `<p>${words}</p>` })
    },
  }
}

async function outcomeOf(services: Services, request: IncomingMessage, url: URL): Promise<LoginOutcome> {
  try {
    return await finishLogin(services, url.searchParams, browserOf(services, request))
  } catch (error) {
    services.log.error({ err: error }, 'the return of a login could not be handled')
    return 'failed'
  }
}

/** The metadata document that is our client id where servers take one (CIMD). */
function giveDocument(services: Services, request: IncomingMessage, response: ServerResponse): void {
  const own = services.publicUrl()
  const body = JSON.stringify({ client_id: own + clientDocumentPath, ...clientMetadata(own) })
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' })
  response.end(request.method === 'HEAD' ? undefined : body)
}
