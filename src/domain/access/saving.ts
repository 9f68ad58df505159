/** What happens around the saving of a named thing that clients call: a tool, an agent, or a gate. */
import { writeJson } from '../../core/json.ts'
import { AppError } from '../../core/errors.ts'
import { isUniqueViolation } from '../../store/db/database.ts'
import type { Ctx, Services } from './context.ts'

type Named = 'agent' | 'tool'

/** Tells every replica, after the commit, that events of the project were written. */
export function publishNews({ pubsub }: Pick<Services, 'pubsub'>, projectId: string): void {
  pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
}

/** Tells every replica, after the commit, that events were written and that what clients see may have changed. */
export function publishSurface(ctx: Ctx, projectId: string): void {
  ctx.pubsub.publish([
    { kind: 'news', projectId, generationId: null, seq: null },
    { kind: 'signal', name: 'surface', id: projectId },
  ])
}

/** Throws NAME_TAKEN when the project has another one of this name. */
export async function guardName<T>(what: Named, name: string, save: () => Promise<T>): Promise<T> {
  try {
    return await save()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    const article = what === 'agent' ? 'an' : 'a'
    const message = `This project already has ${article} ${what} named ${writeJson(name)}.`
    throw new AppError('NAME_TAKEN', message, {}, error)
  }
}

export function changedMeanwhile(what: Named): AppError {
  return new AppError(
    'CONFLICT',
    `The ${what} was changed or deleted by another request. Read it again and repeat the change.`,
  )
}
