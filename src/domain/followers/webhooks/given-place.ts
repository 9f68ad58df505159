/** A cursor of the feed that a caller gives in an input. */
import { AppError, invalidAt } from '../../../core/errors.ts'
import type { Ctx } from '../../access/index.ts'
import { placeInFeed } from '../../events/index.ts'

/**
 * The place of the cursor; without one, the newest. INVALID at `path` for what is no cursor of this server,
 * CURSOR_EXPIRED for one whose event is gone.
 */
export async function givenPlace(
  ctx: Ctx,
  projectId: string,
  cursor: string | null | undefined,
  path: string[],
): ReturnType<typeof placeInFeed> {
  try {
    return await placeInFeed(ctx, projectId, cursor)
  } catch (error) {
    if (error instanceof AppError && error.code === 'BAD_CURSOR')
      throw invalidAt(path, 'is not a cursor of an event')
    throw error
  }
}
