/** Streams of the events of a project. */
import {
  cursorAt,
  followProject,
  searchProject,
  type FeedFilter,
  type FeedPage,
  type FeedStream,
} from '../events/index.ts'
import {
  type Ctx,
  assertMay,
  memberOf,
  ownEvents,
  projectOf,
  reachesOthers,
  untilRevoked,
} from '../access/index.ts'

/**
 * Every event of a project that the caller reaches after the cursor, then live, without end. Without a cursor it begins now, and its first
 * item tells where that is; with "0" at the beginning of the log. Action `events:Subscribe` on the project. CURSOR_EXPIRED, before the stream opens, when the
 * event of the cursor is not in the log any more.
 */
export async function watchProject(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    after?: string | null | undefined
    types?: readonly string[] | null | undefined
  },
): Promise<FeedStream> {
  const projectId = await projectOf(ctx, input.projectId)
  const resource = `project/${projectId}`
  await assertMay(ctx, 'events:Subscribe', projectId, resource, { reached: true })
  return untilRevoked(ctx, ownEvents(ctx, resource, await followProject(ctx, projectId, input)))
}

/**
 * The cursor of a project's feed at a newest position: following the feed after it gives everything that was committed
 * since that position was taken, and nothing that was committed before. Action `events:Subscribe` on the project.
 */
export async function feedCursor(ctx: Ctx, projectId: string, newest: number): Promise<string> {
  await assertMay(ctx, 'events:Subscribe', projectId, `project/${projectId}`, { reached: true })
  return cursorAt(ctx, projectId, newest)
}

/**
 * A page of the events of a project after the cursor, or from the beginning of the log, that match the filter. Action
 * `events:Subscribe` on the project. CURSOR_EXPIRED when the event of the cursor is not in the log any more.
 */
export async function listProjectEvents(
  ctx: Ctx,
  input: FeedFilter & {
    projectId?: string | null | undefined
    after?: string | null | undefined
    first: number
  },
): Promise<FeedPage> {
  const { projectId: given, ...rest } = input
  const projectId = await projectOf(ctx, given)
  const resource = `project/${projectId}`
  await assertMay(ctx, 'events:Subscribe', projectId, resource, { reached: true })
  const requesters = reachesOthers(ctx, resource) ? null : memberOf(ctx.principal.id)
  return searchProject(ctx, projectId, { ...rest, requesters })
}
