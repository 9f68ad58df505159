/** The GraphQL server over HTTP and SSE: Yoga with everything hardened that is open by default. */
import { blockFieldSuggestionsPlugin } from '@escape.tech/graphql-armor-block-field-suggestions'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { GraphQLError, type DocumentNode } from 'graphql'
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga'
import type { Log } from '../../core/log.ts'
import { newestPosition } from '../../domain/events/index.ts'
import type { GraphQLContext, ServerContext } from './context.ts'
import { documentFault, maskError } from './errors.ts'
import { costReport, quotaHeaders } from './operation-cost.ts'
import { operationGuard } from './operation-guard.ts'
import { pageHeaders, renderPage } from './page.ts'
import { schemaOf } from './schema.ts'

/** Bounds on a document, beside those on its cost (operationLimits). */
const documentLimits = { tokens: 2000, aliases: 30, directives: 50 }

export interface YogaOptions {
  log: Log
  graphiql: boolean
  corsOrigins: string[]
  /** Whether introspection wants a key. */
  production: boolean
}

/** What a newcomer finds in GraphiQL. */
const firstQuery = `# Put this under Headers, with the key that the server printed, then press the button:
# { "authorization": "Bearer gh_..." }
{
  viewer { name project { name } }
  agents(first: 5) { nodes { id name } }
  approvals(status: PENDING, first: 5) { nodes { id toolName arguments expiresAt } }
}
`

export type Yoga = ReturnType<typeof makeYoga>

/** Makes the server. It is mounted at /graphql; sockets use the same limits through `getEnveloped`. */
export function makeYoga(options: YogaOptions) {
  const { log, corsOrigins } = options
  const page = options.graphiql
    ? { title: 'Gatehouse', defaultQuery: firstQuery, shouldPersistHeaders: false }
    : null
  return createYoga<ServerContext, GraphQLContext>({
    schema: schemaOf(),
    graphqlEndpoint: '/graphql',
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    graphiql: page ?? false,
    renderGraphiQL: renderPage,
    // Yoga's default reflects any origin with credentials.
    cors:
      corsOrigins.length > 0 ? { origin: corsOrigins, credentials: false, methods: ['POST', 'GET'] } : false,
    maskedErrors: { maskError: (error) => maskError(error, log) },
    plugins: [
      refusedAtTheDoor(),
      caller(),
      jsonOnly(),
      pageHeaders(page),
      sseHeaders(),
      maxTokensPlugin({ n: documentLimits.tokens }),
      maxAliasesPlugin({ n: documentLimits.aliases }),
      maxDirectivesPlugin({ n: documentLimits.directives }),
      blockFieldSuggestionsPlugin({ mask: '' }),
      plainFaults(),
      operationGuard(log, options.production),
      boundedAnswers(log),
      costReport(),
      quotaHeaders(),
      feedCursorFirst(),
    ] as Plugin[],
  })
}

/** Answers what was refused before its body was read, with the headers for browsers as everything else. */
function refusedAtTheDoor(): Plugin {
  return {
    onRequest({ request, serverContext, fetchAPI, endResponse }) {
      const { refusal } = serverContext as ServerContext
      if (!refusal || request.method === 'OPTIONS') return
      const { http, ...extensions } = refusal.extensions as {
        http?: { status: number; headers: Record<string, string> }
      }
      const body = JSON.stringify({ errors: [{ message: refusal.message, extensions }] })
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

/** Puts what resolvers need into the context. */
function caller(): Plugin<ServerContext & YogaInitialContext> {
  return {
    onContextBuilding({ context }) {
      // Yoga's own way copies values: ctx would be asked for when nobody needs it, and loaders could not be renewed.
      Object.defineProperties(context, Object.getOwnPropertyDescriptors(context.prepared!))
    },
  }
}

/** Faults of a document reach the caller without the values in it. */
function plainFaults(): Plugin {
  return {
    onParse:
      () =>
      ({ result, replaceParseResult }) => {
        if (result instanceof GraphQLError) replaceParseResult(documentFault(result))
      },
    onValidate:
      () =>
      ({ result, setResult }) =>
        setResult((result as readonly GraphQLError[]).map(documentFault)),
  }
}

/**
 * What an operation reads must not be older than its feedCursor, or what happened in between would be in neither. So the
 * place is taken before the first resolver runs; without it the field fails by itself.
 */
function feedCursorFirst(): Plugin<GraphQLContext> {
  return {
    async onExecute({ args }) {
      const { loc } = args.document as DocumentNode
      if (!loc?.source.body.includes('feedCursor')) return
      const context = args.contextValue as GraphQLContext
      try {
        context.newestPosition = await newestPosition(context.ctx)
      } catch {
        // Nobody is asking, or the database is away: the resolvers say so.
      }
    },
  }
}

/** An answer beyond its budget is an error in its place, over every transport. */
function boundedAnswers(log: Log): Plugin<GraphQLContext> {
  type Done = { result: unknown; setResult(result: unknown): void }
  const boundedBy =
    ({ answer }: GraphQLContext) =>
    ({ result, setResult }: Done) => {
      const fault = isStream(result) ? null : answer.exceeded()
      if (fault) setResult({ errors: [maskError(fault, log)] })
    }
  return {
    onExecute: ({ args }) => ({ onExecuteDone: boundedBy(args.contextValue as GraphQLContext) }),
    onSubscribe: ({ args }) => ({
      onSubscribeResult: () => ({ onNext: boundedBy(args.contextValue as GraphQLContext) }),
    }),
  }
}

function isStream(result: unknown): boolean {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}

/** A form of another site cannot send JSON without asking first, so nothing else is taken. */
function jsonOnly(): Plugin {
  return {
    onRequest({ request, fetchAPI, endResponse }) {
      if (request.method !== 'POST') return
      const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
      if (type === 'application/json') return
      const body = JSON.stringify({ errors: [{ message: 'POST takes application/json only.' }] })
      endResponse(
        new fetchAPI.Response(body, { status: 415, headers: { 'content-type': 'application/json' } }),
      )
    },
  }
}

/** Proxies must not gather a stream before they pass it on. */
function sseHeaders(): Plugin {
  return {
    onResponse({ response }) {
      if (response.headers.get('content-type')?.startsWith('text/event-stream'))
        response.headers.set('x-accel-buffering', 'no')
    },
  }
}
