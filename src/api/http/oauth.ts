/** Where people come back from authorization servers, and what those may know of us. Plain pages, nothing reflected. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { House } from '../../domain/access/index.ts'
import {
  callbackPath,
  clientDocumentPath,
  clientMetadata,
  finishLogin,
  type LoginOutcome,
} from '../../domain/upstream/index.ts'
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

export function makeOauth(house: House): FileRoutes {
  return {
    serves: (path) => path === callbackPath || path === clientDocumentPath,
    async serve(request, response) {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return void response.writeHead(405, { allow: 'GET, HEAD' }).end()
      const url = new URL((request.url ?? '/').slice(0, maxUrl), 'http://gatehouse.invalid')
      if (url.pathname === clientDocumentPath) return giveDocument(house, request, response)
      // A HEAD of a link scanner must not use the login up.
      if (request.method === 'HEAD') return void response.writeHead(200, headers).end()
      givePage(response, await outcomeOf(house, url))
    },
  }
}

async function outcomeOf(house: House, url: URL): Promise<LoginOutcome> {
  try {
    return await finishLogin(house, url.searchParams)
  } catch (error) {
    house.log.error({ err: error }, 'the return of a login could not be handled')
    return 'failed'
  }
}

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

function givePage(response: ServerResponse, outcome: LoginOutcome): void {
  const { status, title, words } = pages[outcome]
  response
    .writeHead(status, headers)
    .end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
        '<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}</style>' +
        `<h1>${title}</h1><p>${words}</p></html>`,
    )
}

/** The metadata document that is our client id where servers take one (CIMD). */
function giveDocument(house: House, request: IncomingMessage, response: ServerResponse): void {
  const own = house.publicUrl()
  const body = JSON.stringify({ client_id: own + clientDocumentPath, ...clientMetadata(own) })
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' })
  response.end(request.method === 'HEAD' ? undefined : body)
}
