/**
 * A leg of a run: from the claim of its row until it is released. A run that waits may wait for days, so each leg has a trace
 * of its own with a link to the one before.
 */
import { attributeNames as names } from '../../../core/telemetry/names.ts'
import type { TraceContext } from '../../../core/telemetry/trace-context.ts'
import { beginUnit } from '../../../core/telemetry/unit.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import type { Generation } from '../generation.ts'
import type { RunEnd } from '../nesting/notify-parent.ts'

/** `interrupted`: the row is left to its next worker. */
export type LegOutcome = 'parked' | 'ended' | 'interrupted'

export interface Leg {
  /** Counts from 1. */
  number: number
  /** What requests and child runs of the leg carry. */
  trace: TraceContext | undefined
  /** Whether there is a span that the next leg can be linked to. */
  isRecording: boolean
  /** How the run has ended, once it has. */
  ended?: RunEnd['status']
  end(outcome: LegOutcome, error?: unknown): void
}

/** Begins the leg. Reads more about the run only where an SDK keeps the span. */
export async function beginLeg({ db, meters }: Services, generation: Generation): Promise<Leg> {
  const { id, agentId, threadId, settings, trace } = generation
  const before = trace?.leg === undefined ? null : trace
  const number = (before?.leg ?? 0) + 1
  const unit = beginUnit(meters, 'agent', {
    ...(before ? { links: [before] } : { parent: trace ?? undefined }),
    attributes: {
      [names.operation]: 'invoke_agent',
      [names.agentId]: agentId,
      [names.conversation]: threadId,
      [names.generation]: id,
      [names.leg]: number,
      ...(settings.model === null ? {} : { [names.requestModel]: settings.model }),
    },
  })
  if (unit.isRecording) {
    const found = await moreAbout(db, generation, before?.at ?? null).catch(() => null)
    if (found?.name) {
      unit.rename(found.name)
      unit.note({ [names.agentName]: found.name })
    }
    if (found?.approvalId)
      unit.note({
        [names.approval]: found.approvalId,
        [names.verdict]: found.verdict!,
        [names.waitMs]: found.waitMs!,
      })
  }
  const leg: Leg = {
    number,
    trace: unit.trace,
    isRecording: unit.isRecording,
    end(outcome, error) {
      const result = leg.ended?.toLowerCase() ?? outcome
      const fault = error instanceof Error ? error.name : leg.ended === 'FAILED' ? 'FAILED' : undefined
      unit.end({ outcome: result }, fault)
    },
  }
  return leg
}

/** Part of the commit that releases the row: what the next leg is linked to. Without a span the row keeps what it has. */
export function traceToStore(leg: Leg | undefined): SQL[] {
  if (!leg?.isRecording || !leg.trace) return []
  const { traceparent, tracestate = null } = leg.trace
  return [
    sql`trace = jsonb_strip_nulls(jsonb_build_object(
      'traceparent', ${traceparent}::text,
      'tracestate', ${tracestate}::text,
      'leg', ${leg.number}::int,
      'at', extract(epoch from now())
    ))`,
  ]
}

interface About {
  name: string | null
  approvalId: string | null
  verdict: string | null
  waitMs: number | null
}

/** The agent's name, and of the questions that were settled after the leg before, the newest. */
async function moreAbout(db: Database, { id, agentId }: Generation, since: number | null): Promise<About> {
  const [row] = await query<About>(
    db,
    sql`select (select name from agents where id = ${agentId}) as name, a.id as "approvalId",
        a.status as verdict, (extract(epoch from a.settled_at - a.created_at) * 1000)::float8 as "waitMs"
      from (select 1) as one
      left join lateral (
        select id, status, settled_at, created_at from approvals
        where generation_id = ${id} and settled_at >= to_timestamp(${since}::float8)
        order by settled_at desc limit 1
      ) as a on true`,
  )
  return row!
}
