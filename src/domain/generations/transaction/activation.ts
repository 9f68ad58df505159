/**
 * An activation of a run: from the claim of its row until it is released. A run that waits may wait for days, so each activation has a trace
 * of its own with a link to the one before.
 */
import { attributeNames as names, type TraceContext, beginUnit } from '../../../core/telemetry/unit.ts'
import { query, type Database } from '../../../store/db/database.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import type { Generation } from '../generation.ts'
import type { RunEnd } from '../nesting/notify-parent.ts'

/** `interrupted`: the row is left to its next worker. */
export type ActivationOutcome = 'parked' | 'ended' | 'interrupted'

export interface Activation {
  /** Counts from 1. */
  number: number
  /** What requests and child runs of the activation carry. */
  trace: TraceContext | undefined
  /** Whether there is a span that the next activation can be linked to. */
  isRecording: boolean
  /** How the run has ended, once it has. */
  ended?: RunEnd['status']
  end(outcome: ActivationOutcome, error?: unknown): void
}

/** Begins the activation. Reads more about the run only where an SDK keeps the span. */
export async function beginActivation({ db, meters }: Services, generation: Generation): Promise<Activation> {
  const { id, agentId, threadId, settings, trace } = generation
  const before = trace?.activation === undefined ? null : trace
  const number = (before?.activation ?? 0) + 1
  const unit = beginUnit(meters, 'agent', {
    ...(before ? { links: [before] } : { parent: trace ?? undefined }),
    attributes: {
      [names.operation]: 'invoke_agent',
      [names.agentId]: agentId,
      [names.conversation]: threadId,
      [names.generation]: id,
      [names.activation]: number,
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
  const activation: Activation = {
    number,
    trace: unit.trace,
    isRecording: unit.isRecording,
    end(outcome, error) {
      const result = activation.ended?.toLowerCase() ?? outcome
      const fault = error instanceof Error ? error.name : activation.ended === 'FAILED' ? 'FAILED' : undefined
      unit.end({ outcome: result }, fault)
    },
  }
  return activation
}

/** Part of the commit that releases the row: what the next activation is linked to. Without a span the row keeps what it has. */
export function traceToStore(activation: Activation | undefined): SQL[] {
  if (!activation?.isRecording || !activation.trace) return []
  const { traceparent, tracestate = null } = activation.trace
  return [
    sql`trace = jsonb_strip_nulls(jsonb_build_object(
      'traceparent', ${traceparent}::text,
      'tracestate', ${tracestate}::text,
      'activation', ${activation.number}::int,
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

/** The agent's name, and of the questions that were settled after the activation before, the newest. */
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
