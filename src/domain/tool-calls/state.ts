/** The states of a tool call, and every transition between them. Pure. */
import type { z } from 'zod'
import { choice } from '../../core/shapes.ts'
import type { SettledStatus } from '../events/index.ts'

/** The first five are open, the others are settled. */
export const toolCallStatus = choice(
  'ToolCallStatus',
  'The status of a tool call. PROPOSED, AWAITING_APPROVAL, APPROVED, EXECUTING and AWAITING_CLIENT are ' +
    'open, the others final, except that a person may resolve UNKNOWN.',
  {
    PROPOSED: 'The call is accepted and not sent yet.',
    AWAITING_APPROVAL: 'The gate stopped the call until it is approved; see approval.',
    APPROVED: 'The call is approved and not sent yet.',
    EXECUTING: 'The call was sent and has no result yet.',
    AWAITING_CLIENT: 'The call waits for the output of a client: submitToolOutputs.',
    SUCCEEDED: 'The call returned a result without error.',
    ERRORED: 'The call failed, or was refused with a reason.',
    INVALID: 'The arguments do not match the schema; the call was not sent.',
    UNKNOWN:
      'The call was sent and no final result arrived, or the server stopped meanwhile. It may have taken ' +
      'effect and is not repeated.',
    REJECTED: 'An approver rejected the call; it was not sent.',
    EXPIRED: 'No approver approved the call in time; it was not sent.',
    SKIPPED: 'The generation ended with the step of the call; it was not sent.',
    CANCELLED: 'The generation ended, or the caller withdrew the call, before it had a result.',
  },
)
export const toolCallStatuses = toolCallStatus.options
export type ToolCallStatus = z.output<typeof toolCallStatus>

export const openStatuses: readonly ToolCallStatus[] = [
  'PROPOSED',
  'AWAITING_APPROVAL',
  'APPROVED',
  'EXECUTING',
  'AWAITING_CLIENT',
]

/** Whether this status is an outcome. */
export function isSettled(status: ToolCallStatus): status is SettledStatus {
  return !openStatuses.includes(status)
}

/** Whether the call still has no outcome. A call that a person lets run again is settled and yet runs. */
export function isOpen(call: { status: ToolCallStatus; settledAt: Date | null }): boolean {
  return call.settledAt === null && openStatuses.includes(call.status)
}

/** Whether the call has an output: that of its tool, or the text with which a person answered it. */
export function hasOutput({ status, isError }: { status: ToolCallStatus; isError: boolean | null }): boolean {
  return status === 'SUCCEEDED' || (status === 'REJECTED' && isError === false)
}

/**
 * Whether an attempt before the newest one was sent and nobody knows what became of it: its worker was lost, or no response
 * came. The call may have taken effect, and that the newest attempt was not sent says nothing about that.
 */
export function mayHaveRun({
  attempts,
}: {
  attempts: readonly { endedAt?: string | undefined; outcome?: ToolCallStatus | undefined }[]
}): boolean {
  return attempts.slice(0, -1).some(({ endedAt, outcome }) => endedAt === undefined || outcome === 'UNKNOWN')
}

/** Who may make a transition. */
type Writer =
  /** The holder of the row's lease, which executes the call. */
  | 'executor'
  /** A verdict or a deadline of an approval, under the lock of the call's owner. */
  | 'approvals'
  /** The calling application. */
  | 'client'
  /** The commit that ends the generation. */
  | 'generation'
  /** A person who found out what became of an UNKNOWN call. */
  | 'person'

interface Transition {
  /** Null: the transition creates the call. */
  from: readonly ToolCallStatus[] | null
  to: readonly ToolCallStatus[]
  writer: Writer
  /** When it happens. */
  when: string
}

/**
 * Every way in which the status of a call changes. `tool-calls/sql.ts` proves `from` in each statement, so that a
 * call that has moved on stays unchanged. Printed as the state diagram of docs/architecture.md.
 */
export const transitions = {
  propose: {
    from: null,
    to: [
      'PROPOSED',
      'AWAITING_APPROVAL',
      'AWAITING_CLIENT',
      'EXECUTING',
      'SUCCEEDED',
      'INVALID',
      'ERRORED',
      'SKIPPED',
      'REJECTED',
    ],
    writer: 'executor',
    when: 'a model or caller asks for it; refused ones and searches of tools are settled at once',
  },
  start: {
    from: ['PROPOSED', 'APPROVED', 'EXECUTING'],
    to: ['EXECUTING'],
    writer: 'executor',
    when: 'before it is sent; from EXECUTING when an idempotent call lost its worker',
  },
  offer: {
    from: ['PROPOSED', 'APPROVED'],
    to: ['AWAITING_CLIENT'],
    writer: 'executor',
    when: 'a call of the client that waited for the end of a pause, or was agreed to meanwhile',
  },
  askAgain: {
    from: ['APPROVED'],
    to: ['AWAITING_APPROVAL'],
    writer: 'executor',
    when: 'the tool has changed since the approval',
  },
  refuse: {
    from: ['PROPOSED', 'APPROVED'],
    to: ['ERRORED'],
    writer: 'executor',
    when: 'it cannot be sent: its tool, arguments or requester are not valid any more',
  },
  refuseAgain: {
    from: ['PROPOSED', 'APPROVED'],
    to: ['UNKNOWN'],
    writer: 'executor',
    when: 'it may have been sent, and is not sent now: a person let it run again, or the database was restored',
  },
  settle: {
    from: ['EXECUTING'],
    to: ['SUCCEEDED', 'ERRORED', 'UNKNOWN'],
    writer: 'executor',
    when: 'its outcome is known, or nobody can know it',
  },
  timeOut: {
    from: ['AWAITING_CLIENT'],
    to: ['ERRORED'],
    writer: 'executor',
    when: 'the client gave no output in time',
  },
  askLogin: {
    from: ['EXECUTING'],
    to: ['AWAITING_APPROVAL'],
    writer: 'executor',
    when: 'its upstream wants a login of the person for whom it is made, and has not acted on it',
  },
  askCaller: {
    from: ['EXECUTING'],
    to: ['AWAITING_CLIENT'],
    writer: 'executor',
    when: 'its upstream asks the caller something first',
  },
  answerCaller: {
    from: ['AWAITING_CLIENT'],
    to: ['EXECUTING'],
    writer: 'client',
    when: 'the caller has answered all that the upstream asked',
  },
  report: {
    from: ['EXECUTING'],
    to: ['SUCCEEDED', 'ERRORED'],
    writer: 'client',
    when: 'the program that took a permission says how the call ended',
  },
  submit: {
    from: ['AWAITING_CLIENT'],
    to: ['SUCCEEDED', 'ERRORED'],
    writer: 'client',
    when: 'the calling application submits its output',
  },
  approve: {
    from: ['AWAITING_APPROVAL'],
    to: ['APPROVED', 'AWAITING_CLIENT', 'SKIPPED'],
    writer: 'approvals',
    when: 'the approvals reach the quorum',
  },
  reject: {
    from: ['AWAITING_APPROVAL'],
    to: ['REJECTED'],
    writer: 'approvals',
    when: 'somebody rejects it',
  },
  expire: {
    from: ['AWAITING_APPROVAL'],
    to: ['EXPIRED'],
    writer: 'approvals',
    when: 'nobody decided in time',
  },
  withdraw: {
    from: ['PROPOSED', 'AWAITING_APPROVAL', 'APPROVED', 'AWAITING_CLIENT'],
    to: ['CANCELLED'],
    writer: 'client',
    when: 'its caller does not want it any more',
  },
  close: {
    from: openStatuses,
    to: ['CANCELLED'],
    writer: 'generation',
    when: 'the generation ends first, and the call was not sent',
  },
  closeSent: {
    from: ['EXECUTING'],
    to: ['UNKNOWN'],
    writer: 'generation',
    when: 'the generation ends while the call is under way',
  },
  settleLate: {
    from: ['UNKNOWN'],
    to: ['SUCCEEDED', 'ERRORED'],
    writer: 'executor',
    when: 'the outcome of that attempt becomes known after its lease',
  },
  resolve: {
    from: ['UNKNOWN'],
    to: ['SUCCEEDED', 'ERRORED'],
    writer: 'person',
    when: 'a person says what became of it',
  },
  runAgain: {
    from: ['UNKNOWN'],
    to: ['PROPOSED'],
    writer: 'person',
    when: 'a person lets it run again under the same Idempotency-Key',
  },
} as const satisfies Record<string, Transition>

export type TransitionName = keyof typeof transitions
/** The transition with which the executor ends a call in that status with this outcome. */
export function endOf(
  status: ToolCallStatus,
  outcome: ToolCallStatus,
): 'refuse' | 'refuseAgain' | 'settle' | 'timeOut' {
  if (status === 'EXECUTING') return 'settle'
  if (status === 'AWAITING_CLIENT') return 'timeOut'
  return outcome === 'UNKNOWN' ? 'refuseAgain' : 'refuse'
}

/** The statuses that a transition leads to. */
export type To<Name extends TransitionName> = (typeof transitions)[Name]['to'][number]

/** The table as a Mermaid state diagram: one edge for each pair of states, with its transitions and their writers. */
export function stateDiagram(): string {
  const labels = new Map<string, string[]>()
  for (const [name, { from, to, writer }] of Object.entries<Transition>(transitions))
    for (const state of from ?? ['[*]'])
      for (const next of to) {
        const edge = `${state} --> ${next}`
        labels.set(edge, [...(labels.get(edge) ?? []), `${name} (${writer})`])
      }
  return ['stateDiagram-v2', ...[...labels].map(([edge, names]) => `  ${edge}: ${names.join(', ')}`)].join(
    '\n',
  )
}
