/** Claims generations that are due: a claim starts a generation, resumes it, or restarts its step. */
import type { Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { parentLinkOf } from '../../../store/work/owner.ts'
import { claim, type ClaimLimits } from '../../../store/work/work.ts'
import { eventName, generationResumed, generationStarted, insertEventRows } from '../../events/index.ts'
import type { DecidedOwner, RunState } from '../../approvals/index.ts'
import type { Generation, StoredStatus } from '../generation.ts'
import type { Step } from '../steps.ts'
import type { Usage } from '../../models/index.ts'
import type { HeldRun, NewAttemptRow } from './commit.ts'

export interface HeldGeneration extends HeldRun {
  projectId: string
  /** The status before the claim; RUNNING: an earlier worker was lost in the middle of its work. */
  was: StoredStatus
  lastSeq: number
  /** The state as the statement left it that created or woke the row as claimed; absent: it must be read. */
  claimed?: ClaimedState | DecidedOwner['claimed']
  /**
   * A model was, or may have been, asked for the step of now, and what came of it is not written: such a try counts before the
   * model is asked again.
   */
  asked?: boolean
  /** The row of that try, as of now, when its response was read and could not be stored. */
  notStored?: () => NewAttemptRow & { usage: Usage }
}

/** A generation, its calls and the versions of its tools at one moment. */
export interface Snapshot extends RunState {
  generation: Generation
}

export interface ClaimedState extends Snapshot {
  /** All steps so far. */
  steps: Step[]
}

/**
 * Claims at most `limit` due generations and sets them RUNNING. For one that was QUEUED, the event "started" or
 * "resumed" is written in the same statement.
 */
export function claimGenerations(
  db: Database,
  leaseMs: number,
  limits: ClaimLimits,
): Promise<HeldGeneration[]> {
  return claim<HeldGeneration>(db, 'generations', leaseMs, limits, {
    keep: ['started_at'],
    set: sql`status = 'RUNNING', started_at = coalesce(t.started_at, now()),
      last_seq = t.last_seq + case when due.status = 'QUEUED' then 1 else 0 end`,
    after: insertEventRows(sql`
      select project_id, id as generation_id, last_seq as seq,
        case when step_count = 0 and attempt = 0
          then ${eventName(generationStarted)}
          else ${eventName(generationResumed)}
        end as type,
        '{}'::jsonb as data, requested_by
      from g
      where was = 'QUEUED'`),
    select: sql`last_seq as "lastSeq", ${parentLinkOf}`,
  })
}
