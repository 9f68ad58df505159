/**
 * What Yoga does for /graphql: content negotiation, CORS, GraphiQL and server-sent events, with secure settings in place of
 * its open defaults. Documents are prepared and operations run as on every other transport.
 */
import { GraphQLError } from 'graphql'
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga'
import { unpackValue, writeJson } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import { packBody } from '../../http/replies.ts'
import type { GraphQLContext, ServerContext } from '../builder/context.ts'
import { maskError } from '../builder/errors.ts'
import type { Documents } from './documents.ts'
import { openEventStream } from './event-streams.ts'
import { quotaHeadersOf, type Operation } from './operation-guard.ts'
import { runOperation, type OperationParts } from './operations.ts'
import { pageHeaders, renderPage } from './page.ts'

export interface YogaOptions {
  log: Log
  graphiql: boolean
  documents: Documents
  parts: OperationParts
}

/** The default query of GraphiQL. */
const firstQuery = `# A browser that is signed in to the dashboard needs no key: press the button.
# In any other, put this under Headers, with the key of the server:
# { "authorization": "Bearer gh_..." }
{
  viewer { name project { name } }
  agents(first: 5) { nodes { id name } }
  approvals(filter: { statuses: [PENDING] }, first: 5) { nodes { id toolName arguments expiresAt } }
}
`

export type Yoga = ReturnType<typeof makeYoga>

/** Creates the server for /graphql. */
export function makeYoga(options: YogaOptions) {
  const { log, documents, parts } = options
  const page = options.graphiql
    ? { title: 'Gatehouse', defaultQuery: firstQuery, shouldPersistHeaders: false }
    : null
  return createYoga<ServerContext, GraphQLContext>({
    schema: documents.schema,
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    graphiql: page ?? false,
    renderGraphiQL: renderPage,
    // Yoga's default reflects any origin with credentials. The server sets the headers for every API.
    cors: false,
    maskedErrors: { maskError: (error) => maskError(error, log) },
    plugins: [
      earlyRefusals(),
      caller(),
      jsonOnly(),
      wholeDocuments(),
      streamHint(),
      pageHeaders(page),
      sseHeaders(),
      preparedDocuments(documents),
      operationsPlugin(parts),
      quotaHeaders(),
      packing(),
    ] as Plugin[],
  })
}

/**
 * Responds to requests that were refused before their body was read. As a plugin, so that they get CORS headers too.
 */
function earlyRefusals(): Plugin {
  return {
    onRequest({ request, serverContext, fetchAPI, endResponse }) {
      const { refusal } = serverContext as ServerContext
      if (!refusal || request.method === 'OPTIONS') return
      const { http, ...extensions } = refusal.extensions as {
        http?: { status: number; headers: Record<string, string> }
      }
      const body = writeJson({ errors: [{ message: refusal.message, extensions }] })
      const type = request.headers.get('accept')?.includes('application/graphql-response+json')
        ? 'application/graphql-response+json'
        : 'application/json'
      endResponse(
        new fetchAPI.Response(body, {
          status: http?.status ?? 400,
          headers: { ...http?.headers, 'content-type': `${type}; charset=utf-8` },
        }),
      )
    },
  }
}

/** Adds the prepared context to that of Yoga. */
function caller(): Plugin<ServerContext & YogaInitialContext> {
  return {
    onContextBuilding({ context }) {
      // Yoga would copy the values: that reads ctx when no resolver needs it, and freezes loaders that must be renewed.
      Object.defineProperties(context, Object.getOwnPropertyDescriptors(context.prepared!))
    },
  }
}

/** Parses and validates as every transport does. */
function preparedDocuments(documents: Documents): Plugin {
  return {
    onParse: ({ setParseFn }) =>
      setParseFn((text: string) => {
        const prepared = documents.prepare(text)
        if ('errors' in prepared) throw new AggregateError(prepared.errors)
        return prepared.document
      }),
    onValidate: ({ setResult }) => setResult([]),
  }
}

/** Runs operations as every transport does. */
export function operationsPlugin(parts: OperationParts): Plugin {
  return {
    // What was packed for Yoga's parser is put back.
    onParams: ({ params, setParams }) => setParams(unpackValue(params) as typeof params),
    onExecute: ({ setExecuteFn }) =>
      setExecuteFn((async (given: Operation) => ({
        ...(await runOperation(parts, given)),
        // Yoga calls it in place of JSON.stringify.
        stringify: (result: unknown) => writeJson(result),
      })) as never),
    onSubscribe: ({ setSubscribeFn }) =>
      setSubscribeFn(((given: Operation) => openEventStream(parts, given)) as never),
  }
}

/** Compresses JSON as fast-route does. Event streams are sent piece by piece, and stay as they are. */
function packing(): Plugin {
  return {
    async onResponse({ request, response, setResponse, fetchAPI }) {
      const { status, headers } = response
      if (!/^application\/(graphql-response\+)?json\b/.test(headers.get('content-type') ?? '')) return
      const whole = Buffer.from(await response.text())
      const { bytes, headers: coding } = await packBody(whole, request.headers.get('accept-encoding') ?? '')
      const own = { ...coding, 'content-length': String(bytes.length) }
      const all = { ...Object.fromEntries(headers), ...own }
      setResponse(new fetchAPI.Response(bytes as Uint8Array<ArrayBuffer>, { status, headers: all }))
    },
  }
}

/** Sets the rate limit headers on each response to an authenticated caller. */
function quotaHeaders(): Plugin {
  return {
    onResponse({ response, serverContext }) {
      const { prepared } = serverContext as ServerContext
      if (!prepared) return
      for (const [header, value] of Object.entries(quotaHeadersOf(prepared)))
        response.headers.set(header, value)
    },
  }
}

/** Accepts JSON only: a form of another site cannot send it without a CORS preflight. */
function jsonOnly(): Plugin {
  return {
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
      if (type === 'application/json') return
      const body = writeJson({ errors: [{ message: 'POST takes application/json only.' }] })
      endResponse(
        new fetchAPI.Response(body, { status: 415, headers: { 'content-type': 'application/json' } }),
      )
    },
  }
}

/**
 * Asks for the whole document where a request has only its hash: with this code clients that persist queries send it from
 * then on ([Apollo's protocol](https://www.apollographql.com/docs/apollo-server/performance/apq)).
 */
function wholeDocuments(): Plugin {
  return {
    onParams({ params }) {
      if (params.query || !params.extensions?.['persistedQuery']) return
      throw new GraphQLError('PersistedQueryNotSupported', {
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', http: { status: 200 } },
      })
    },
  }
}

/** Says how subscriptions are served to a client that accepts none of it, as Apollo's HTTP link for a multipart response. */
function streamHint(): Plugin {
  return {
    onResponse({ response, setResponse, fetchAPI }) {
      if (response.status !== 406) return
      const message =
        'Subscriptions are served as server-sent events (accept: text/event-stream) and over WebSocket ' +
        '(graphql-transport-ws) at this URL. With Apollo use GraphQLWsLink for them.'
      const body = writeJson({ errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }] })
      const headers = {
        ...Object.fromEntries(response.headers),
        'content-type': 'application/json; charset=utf-8',
      }
      setResponse(new fetchAPI.Response(body, { status: 406, headers }))
    },
  }
}

/** Tells proxies not to buffer an event stream. */
function sseHeaders(): Plugin {
  return {
    onResponse({ response }) {
      if (response.headers.get('content-type')?.startsWith('text/event-stream'))
        response.headers.set('x-accel-buffering', 'no')
    },
  }
}
