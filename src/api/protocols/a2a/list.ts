/** Pages of the tasks of an agent, newest first. */
import type { JsonObject } from '../../../core/json.ts'
import { decodePlace, encodePlace } from '../../../core/page.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import {
  countGenerations,
  listGenerations,
  showStepsOf,
  type GenerationFilter,
} from '../../../domain/generations/index.ts'
import type { Listing } from './request.ts'
import { stateOf, taskOf } from './shapes.ts'
import { withQuestions } from './task.ts'

/** The most tasks of a page with their artifacts. */
const mostWithArtifacts = 20
/** Tasks are counted up to this number. */
const mostCounted = 10_000

type Statuses = NonNullable<GenerationFilter['statuses']>

/**
 * Which runs may be in a state. What asks other people only is working, and what runs may ask too, so the tasks that were
 * read are asked again.
 */
const statusesOf: Record<NonNullable<Listing['status']>, Statuses | null> = {
  TASK_STATE_UNSPECIFIED: null,
  TASK_STATE_SUBMITTED: ['QUEUED'],
  TASK_STATE_WORKING: ['RUNNING', 'REQUIRES_ACTION', 'AWAITING_APPROVAL'],
  TASK_STATE_INPUT_REQUIRED: ['QUEUED', 'RUNNING', 'REQUIRES_ACTION', 'AWAITING_APPROVAL'],
  TASK_STATE_COMPLETED: ['COMPLETED'],
  TASK_STATE_FAILED: ['FAILED', 'EXPIRED'],
  TASK_STATE_CANCELED: ['CANCELLED'],
  TASK_STATE_REJECTED: [],
  TASK_STATE_AUTH_REQUIRED: [],
}

/**
 * The tasks of the agent that the caller may list. Actions `generations:List`, and `generations:Start` on the agent.
 * A page may have fewer than `pageSize`; the next one begins behind `nextPageToken`, which is empty at the end.
 */
export async function listTasks(ctx: Ctx, agentNamed: string, given: Listing): Promise<JsonObject> {
  const agent = await findAgentToStart(ctx, agentNamed)
  const wanted = given.status === 'TASK_STATE_UNSPECIFIED' ? null : (given.status ?? null)
  const artifacts = given.includeArtifacts ?? false
  const pageSize = Math.min(given.pageSize ?? 50, artifacts ? mostWithArtifacts : 100)
  const filter: GenerationFilter = {
    agentId: agent.id,
    rootOnly: true,
    threadId: given.contextId || null,
    statuses: wanted && statusesOf[wanted],
  }
  const after = given.pageToken ? decodePlace(given.pageToken) : undefined
  const rows = await listGenerations(ctx, { filter, page: { limit: pageSize + 1, inverted: false, after } })
  const page = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? page.at(-1) : undefined
  const steps = artifacts
    ? await showStepsOf(
        ctx.db,
        page.map(({ id }) => id),
      )
    : []
  const tasks: JsonObject[] = []
  for (const generation of page) {
    const own = steps.filter(({ generationId }) => generationId === generation.id)
    const task = { ...(await withQuestions(ctx, generation)), steps: own }
    if (wanted && stateOf(task) !== wanted) continue
    tasks.push(taskOf(task, { historyLength: given.historyLength ?? null, artifacts }))
  }
  return {
    tasks,
    nextPageToken: last ? encodePlace({ at: last.createdAt.getTime(), id: last.id }) : '',
    pageSize,
    totalSize: await countGenerations(ctx, { filter }, mostCounted),
  }
}
