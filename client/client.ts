/** The client: requests, streams, client tools, approvals and calls of one server under one key. */
import { approvalsOf, type Approvals } from './approvals.ts'
import { callTool, type CallToolOptions } from './calls.ts'
import { readGeneration, runClientTools, type RunClientToolsOptions } from './client-tools.ts'
import {
  followGeneration,
  followProject,
  newIdempotencyKey,
  run,
  typed,
  type Core,
  type ProjectEventsOptions,
} from './core.ts'
import { textOf, type TypedDocument } from './document.ts'
import * as documents from './documents.ts'
import { EventStream, type FollowOptions, type Placed } from './follow.ts'
import type {
  CallToolInput,
  CancelGenerationData,
  CancelGenerationVariables,
  Generation,
  GenerationEvent,
  ProjectEvent,
  StartGenerationData,
  StartGenerationInput,
  StartGenerationVariables,
  ToolCall,
} from './operation-types.ts'
import { request, throwRefusals, type RequestOptions } from './request.ts'
import { eventStreamTransport } from './server-sent-events.ts'
import { serverOf, type ClientOptions } from './server.ts'
import { socketTransport } from './socket.ts'
import type { ClientTool } from './tool-runs.ts'

export interface MutateOptions extends RequestOptions {
  /** Whether a repeat has no second effect, so that the mutation is sent again when no answer came. Default: with idempotencyKey. */
  isIdempotent?: boolean
}

export interface Client {
  /** Runs a query; it is repeated until an answer comes. Throws GatehouseError. */
  query<Result = Record<string, unknown>, Variables extends object = Record<string, unknown>>(
    document: TypedDocument<Result, Variables> | string,
    variables?: Variables,
    options?: RequestOptions,
  ): Promise<Result>
  /**
   * Runs a mutation. Throws GatehouseError, also for a refusal of which `code` and `message` are selected. It is repeated
   * only when it is idempotent: `input.idempotencyKey` is set, or the option says so.
   */
  mutate<Result = Record<string, unknown>, Variables extends object = Record<string, unknown>>(
    document: TypedDocument<Result, Variables> | string,
    variables?: Variables,
    options?: MutateOptions,
  ): Promise<Result>
  /**
   * Follows a subscription of one's own. The document must have the variable `$after: String`, pass it on, and select
   * `cursor` and `type`.
   */
  subscribe<Event extends Placed = Placed & Record<string, unknown>>(
    document: string | object,
    variables?: Record<string, unknown>,
    options?: FollowOptions,
  ): AsyncIterableIterator<Event, undefined>
  /** The events of one generation, from the first one or behind a cursor, to the last one. */
  generationEvents(id: string, options?: FollowOptions): AsyncIterableIterator<GenerationEvent, undefined>
  /** The events of a project, from now on or behind a cursor ("0": the beginning), without end. */
  projectEvents(options?: ProjectEventsOptions): AsyncIterableIterator<ProjectEvent, undefined>
  /** Starts a generation; safe to repeat, as it gets an idempotency key. */
  startGeneration(input: StartGenerationInput, options?: RequestOptions): Promise<Generation>
  /** Asks a generation to end. */
  cancelGeneration(id: string, reason?: string, options?: RequestOptions): Promise<Generation>
  /** A generation as it is now; null when it does not exist for this key. */
  generation(id: string, options?: RequestOptions): Promise<Generation | null>
  /** See runClientTools of client-tools.ts: runs a generation's client tools here until it has ended. */
  runClientTools(
    generationId: string,
    tools: Readonly<Record<string, ClientTool>>,
    options?: RunClientToolsOptions,
  ): Promise<Generation>
  /** Calls a tool directly and waits for its outcome, also when a person must approve it. */
  callTool(input: CallToolInput, options?: CallToolOptions): Promise<ToolCall>
  approvals: Approvals
  /** Closes the connection of the streams. */
  close(): void
}

const start = typed<StartGenerationData, StartGenerationVariables>(documents.startGeneration)
const cancel = typed<CancelGenerationData, CancelGenerationVariables>(documents.cancelGeneration)

/** Makes a client; nothing is sent before it is used. Throws TypeError for options that cannot work. */
export function createClient(options: ClientOptions): Client {
  const server = serverOf(options)
  const transport = server.webSocket ? socketTransport(server) : eventStreamTransport(server)
  const core: Core = { server, transport }
  return {
    async query(document, variables, given) {
      return (await request(server, textOf(document), variables ?? {}, true, given)) as never
    },
    async mutate(document, variables, { isIdempotent, ...given } = {}) {
      const data = await request(
        server,
        textOf(document),
        variables ?? {},
        isIdempotent ?? hasKey(variables),
        given,
      )
      throwRefusals(data)
      return data as never
    },
    subscribe(document, variables = {}, given = {}) {
      const stream = { query: textOf(document), variables, isLast: null }
      return new EventStream(server, transport, stream, given) as never
    },
    generationEvents: (id, given = {}) => followGeneration(core, id, given),
    projectEvents: (given = {}) => followProject(core, given),
    async startGeneration(input, given) {
      const keyed = { ...input, idempotencyKey: input.idempotencyKey ?? newIdempotencyKey() }
      return (await run(core, start, { input: keyed }, true, given)).startGeneration.generation
    },
    async cancelGeneration(generationId, reason, given) {
      const input = { generationId, reason: reason ?? null }
      return (await run(core, cancel, { input }, true, given)).cancelGeneration.generation
    },
    generation: (id, given) => readGeneration(core, id, given?.signal),
    runClientTools: (id, tools, given) => runClientTools(core, id, tools, given),
    callTool: (input, given) => callTool(core, input, given),
    approvals: approvalsOf(core),
    close: () => transport.close(),
  }
}

function hasKey(variables: object | undefined): boolean {
  const { input } = (variables ?? {}) as { input?: { idempotencyKey?: unknown } }
  return typeof input?.idempotencyKey === 'string' && input.idempotencyKey !== ''
}
