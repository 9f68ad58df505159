/** GraphQL over HTTP and SSE: Yoga with secure settings in place of its open defaults. */
import { blockFieldSuggestionsPlugin } from '@escape.tech/graphql-armor-block-field-suggestions'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { execute, GraphQLError, type DocumentNode, type ExecutionResult } from 'graphql'
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga'
import type { Log } from '../../core/log.ts'
import type { GraphQLContext, ServerContext } from './context.ts'
import { documentFault, maskError } from './errors.ts'
import { sharedStreams } from './event-streams.ts'
import { bounded, readFeedCursor } from './execution.ts'
import { costReport, quotaHeaders } from './operation-cost.ts'
import { guardPlugin, operationGuard } from './operation-guard.ts'
import { pageHeaders, renderPage } from './page.ts'
import { schemaOf } from './schema.ts'

/** Limits of a document, in addition to those of its cost (operationLimits). */
const documentLimits = { tokens: 2000, aliases: 30, directives: 50 }

export interface YogaOptions {
  log: Log
  graphiql: boolean
  corsOrigins: string[]
  /** Whether introspection requires authentication. */
  production: boolean
}

/** The default query of GraphiQL. */
const firstQuery = `# Put this under Headers, with the key that the server printed, then press the button:
# { "authorization": "Bearer gh_..." }
{
  viewer { name project { name } }
  agents(first: 5) { nodes { id name } }
  approvals(status: PENDING, first: 5) { nodes { id toolName arguments expiresAt } }
}
`

export type Yoga = ReturnType<typeof makeYoga>

/** Creates the server for /graphql. Sockets apply the same limits through `getEnveloped`. */
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
      earlyRefusals(),
      caller(),
      jsonOnly(),
      pageHeaders(page),
      sseHeaders(),
      maxTokensPlugin({ n: documentLimits.tokens }),
      maxAliasesPlugin({ n: documentLimits.aliases }),
      maxDirectivesPlugin({ n: documentLimits.directives }),
      blockFieldSuggestionsPlugin({ mask: '' }),
      documentFaults(),
      guardPlugin(operationGuard(log, options.production)),
      inOrderOfSelection(),
      sharedStreams(log),
      boundedResponses(log),
      costReport(),
      quotaHeaders(),
      feedCursorFirst(),
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

/** Adds the prepared context to that of Yoga. */
function caller(): Plugin<ServerContext & YogaInitialContext> {
  return {
    onContextBuilding({ context }) {
      // Yoga would copy the values: that reads ctx when no resolver needs it, and freezes loaders that must be renewed.
      Object.defineProperties(context, Object.getOwnPropertyDescriptors(context.prepared!))
    },
  }
}

/** Removes literal values and suggestions from faults of a document. */
function documentFaults(): Plugin {
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

/** Executes with graphql-js, which gives the fields of a response in the order of their selection, on every transport. */
function inOrderOfSelection(): Plugin {
  return { onExecute: ({ setExecuteFn }) => setExecuteFn(execute as never) }
}

/** Yoga plugin: readFeedCursor before the first resolver runs. */
function feedCursorFirst(): Plugin<GraphQLContext> {
  return {
    onExecute: ({ args }) =>
      readFeedCursor(args.document as DocumentNode, args.contextValue as GraphQLContext) ?? undefined,
  }
}

/** Replaces a response that exceeds its budget by an error, on every transport. */
function boundedResponses(log: Log): Plugin<GraphQLContext> {
  type Done = { result: unknown; setResult(result: unknown): void }
  const boundedBy =
    (context: GraphQLContext) =>
    ({ result, setResult }: Done) => {
      if (!isStream(result)) setResult(bounded(context, result as ExecutionResult, log))
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

/** Accepts JSON only: a form of another site cannot send it without a CORS preflight. */
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

/** Tells proxies not to buffer an event stream. */
function sseHeaders(): Plugin {
  return {
    onResponse({ response }) {
      if (response.headers.get('content-type')?.startsWith('text/event-stream'))
        response.headers.set('x-accel-buffering', 'no')
    },
  }
}
