/** What the parts of the client share: the server, requests to it, and streams from it. */
import { typed, type TypedDocument } from './document.ts'
import * as documents from './documents.ts'
import { errorOf, GatehouseError } from './errors.ts'
import { EventStream, type FollowOptions, type Placed } from './follow.ts'
import type {
  EventType,
  FeedCursorOfData,
  FeedCursorOfVariables,
  GenerationEvent,
  ProjectEvent,
  ViewerCursorData,
  ViewerCursorVariables,
} from './operation-types.ts'
import { pause, waitAfter } from './pause.ts'
import { request, throwRefusals, type RequestOptions } from './request.ts'
import type { Server } from './server.ts'
import type { Transport } from './transport.ts'

export interface Core {
  readonly server: Server
  readonly transport: Transport
}

/** Runs an operation of documents.ts. `isSafe`: a repeat has no second effect. Throws the error of a refusal. */
export async function run<Result, Variables extends object>(
  { server }: Core,
  document: TypedDocument<Result, Variables>,
  variables: Variables,
  isSafe: boolean,
  options?: RequestOptions,
): Promise<Result> {
  const data = await request(server, document as unknown as string, variables, isSafe, options)
  throwRefusals(data)
  return data as Result
}

/** Codes that say nothing about the request, only about this moment. */
const momentary = new Set(['UNREACHABLE', 'UNAVAILABLE'])

/** The same for work that goes on however long the server is away; only the signal ends it. */
export async function runPatiently<Result, Variables extends object>(
  core: Core,
  document: TypedDocument<Result, Variables>,
  variables: Variables,
  signal: AbortSignal | undefined,
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await run(core, document, variables, true, { signal })
    } catch (error) {
      if (!(error instanceof GatehouseError) || !momentary.has(error.code)) throw error
      await pause(waitAfter(failures), signal)
    }
  }
}

export interface ProjectEventsOptions extends FollowOptions {
  /** Only events of these types. Default: all. */
  types?: readonly EventType[] | undefined
  /** Default: that of the client, or of the key. */
  projectId?: string | undefined
}

const lastTypes = new Set([
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
  'GENERATION_CANCELLED',
  'GENERATION_EXPIRED',
])

export const isLastEvent = ({ type }: Placed) => type !== undefined && lastTypes.has(type)

export function followGeneration(
  { server, transport }: Core,
  generationId: string,
  options: FollowOptions,
): EventStream<GenerationEvent> {
  const query = documents.generationEvents
  return new EventStream(
    server,
    transport,
    { query, variables: { generationId }, isLast: isLastEvent },
    options,
  )
}

export function followProject(
  core: Core,
  { types, projectId = core.server.projectId ?? undefined, ...options }: ProjectEventsOptions,
): EventStream<ProjectEvent> {
  const variables = { projectId: projectId ?? null, types: types ?? null }
  return new EventStream(
    core.server,
    core.transport,
    { query: documents.projectEvents, variables, isLast: null },
    options,
  )
}

const viewerCursor = typed<ViewerCursorData, ViewerCursorVariables>(documents.viewerCursor)
const cursorOf = typed<FeedCursorOfData, FeedCursorOfVariables>(documents.feedCursorOf)

/** The newest place in the feed of the project. What is read after it and what follows it leave nothing out. */
export async function feedCursor(
  core: Core,
  signal: AbortSignal | undefined,
): Promise<{ projectId: string; cursor: string }> {
  const { projectId } = core.server
  const { project } =
    projectId === null
      ? (await runPatiently(core, viewerCursor, {}, signal)).viewer
      : await runPatiently(core, cursorOf, { projectId }, signal)
  if (!project)
    throw errorOf('FORBIDDEN', 'This key has no project that it may read: give createClient a projectId.', {
      action: 'projects:Get',
    })
  const { id, feedCursor: cursor } = project
  if (cursor === null)
    throw errorOf('FORBIDDEN', 'This key may not follow events.', { action: 'events:Subscribe' })
  return { projectId: id, cursor }
}

/** A key for a request that is repeated until it is answered. */
export function newIdempotencyKey(): string {
  // randomUUID is missing in pages that came without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export { typed }
