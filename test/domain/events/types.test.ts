/** What does not compile, and names that must equal those of other modules. Checked by `npm run check:types`. */
import { expect, expectTypeOf, test } from 'vitest'
import type { Verdict, VoidReason } from '../../../src/domain/approvals/index.ts'
import {
  approvalVoided,
  approvalVoted,
  childEnded,
  generationCompleted,
  insertGenerationEvents,
  stepReset,
  toolCallSettled,
  toolCreated,
  type DomainEvent,
  type EventData,
  type EventType,
  type GenerationEvent,
  type RecordedEvent,
} from '../../../src/domain/events/index.ts'
import type { FailureCode, StopReason } from '../../../src/domain/generations/generation.ts'
import type { ModelErrorCode } from '../../../src/domain/models/port.ts'
import { isSettled, toolCallStatuses, type Resolution } from '../../../src/domain/tool-calls/index.ts'
import type { UpstreamStatus } from '../../../src/domain/upstream/index.ts'

const call = { toolCallId: 'call_1', name: 'pay' }

test('an event with wrong data does not compile', () => {
  // @ts-expect-error a field is missing
  toolCallSettled({ toolCallId: 'call_1', status: 'SUCCEEDED' })
  // @ts-expect-error a status of an open call is no outcome
  toolCallSettled({ ...call, status: 'EXECUTING' })
  // @ts-expect-error a field of another kind
  generationCompleted({ stopReason: 'END_TURN', code: 'INTERNAL' })
  // @ts-expect-error a number where a name belongs
  stepReset({ stepIndex: 1, attempt: 2, reason: 3 })
  // @ts-expect-error no such type
  const unknown: DomainEvent = { type: 'TOOL_CALL_FORGOTTEN', data: {} }
  // @ts-expect-error the data of another kind
  const mixed: DomainEvent = { type: 'CHILD_ENDED', data: { childId: 'gen_1' } }
  expect([unknown, mixed]).toHaveLength(2)
})

test('an event of a project cannot be written to the log of a generation', () => {
  const created = toolCreated({ toolId: 'tool_1', name: 'pay', version: 1 })
  // @ts-expect-error the log of a generation never holds it
  insertGenerationEvents([created])
  expectTypeOf(created).not.toExtend<GenerationEvent>()
  expectTypeOf(approvalVoted).returns.toExtend<GenerationEvent>()
})

test('the type of a recorded event narrows its data', () => {
  const read = (event: RecordedEvent): string | undefined => {
    if (event.type === 'CHILD_ENDED') {
      expectTypeOf(event.data.status).toEqualTypeOf<'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED'>()
      expectTypeOf(event.data.descendantId).toEqualTypeOf<string | undefined>()
      return event.data.childId
    }
    // @ts-expect-error only child runs have it
    return event.data.childId as string | undefined
  }
  const event = childEnded({ ...call, childId: 'gen_1', status: 'FAILED' })
  expect(read(event as RecordedEvent)).toBe('gen_1')
})

test('the names in events are those of the modules that write them', () => {
  expectTypeOf<EventData['APPROVAL_VOTED']['verdict']>().toEqualTypeOf<Verdict>()
  expectTypeOf(approvalVoided).parameter(0).toHaveProperty('reason').toEqualTypeOf<VoidReason>()
  expectTypeOf<EventData['GENERATION_COMPLETED']['stopReason']>().toEqualTypeOf<StopReason>()
  expectTypeOf<EventData['GENERATION_FAILED']['code']>().toEqualTypeOf<FailureCode>()
  expectTypeOf<EventData['STEP_RESET']['reason']>().toEqualTypeOf<ModelErrorCode | 'WORKER_LOST'>()
  expectTypeOf<EventData['UNKNOWN_CALL_RESOLVED']['outcome']>().toEqualTypeOf<Resolution>()
  expectTypeOf<EventData['UPSTREAM_STATUS']['status']>().toEqualTypeOf<UpstreamStatus>()
  expectTypeOf<DomainEvent['type']>().toEqualTypeOf<EventType>()
  const settled = [
    'SUCCEEDED',
    'ERRORED',
    'INVALID',
    'UNKNOWN',
    'REJECTED',
    'EXPIRED',
    'SKIPPED',
    'CANCELLED',
  ]
  expect(toolCallStatuses.filter(isSettled)).toEqual(settled)
})
