/** The pure decision: which act is next, in every situation. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSettings } from '../../../src/domain/agents/agent.ts'
import { decide, planOf, type Situation } from '../../../src/domain/generations/decide.ts'
import { isOpen, toolCallStatuses, type ToolCall } from '../../../src/domain/tool-calls/index.ts'

const call = (more: Partial<ToolCall>): ToolCall =>
  ({
    id: 'call_x',
    kind: 'http',
    action: null,
    childId: null,
    stepIndex: 1,
    runtimeName: 'look',
    status: 'SUCCEEDED',
    deadlineAt: null,
    errorCode: null,
    settledAt: null,
    ...more,
  }) as ToolCall
const situation = (more: Partial<Situation> = {}): Situation => ({
  settings: checkSettings({}, 'proj_a'),
  stepCount: 1,
  cancelRequested: false,
  now: 1000,
  deadlineAt: 10_000,
  calls: [],
  nextStep: null,
  usedTokens: 0,
  chainBudgets: [],
  usedTokensToday: 0,
  inFlight: new Set(),
  paused: false,
  ...more,
})

test('calls that were sent are allowed to finish before a cancel, and nothing new is sent', () => {
  const calls = [call({ id: 'a', status: 'EXECUTING' }), call({ id: 'b', status: 'PROPOSED' })]
  expect(decide(situation({ calls, cancelRequested: true }))).toMatchObject({
    do: 'run',
    calls: [{ id: 'a' }],
  })
  expect(decide(situation({ calls }))).toMatchObject({ do: 'run', calls: [{ id: 'a' }, { id: 'b' }] })
})

test('cancel comes before the deadline, the deadline before open calls', () => {
  const calls = [call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(500) })]
  expect(decide(situation({ calls, cancelRequested: true, now: 20_000 }))).toEqual({ do: 'cancel' })
  expect(decide(situation({ calls, now: 20_000 }))).toEqual({ do: 'expire' })
  expect(decide(situation({ calls }))).toMatchObject({ do: 'timeOut' })
})

test('a wait ends at the nearest deadline', () => {
  const calls = [
    call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(5000) }),
    call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(3000) }),
  ]
  expect(decide(situation({ calls }))).toEqual({ do: 'wait', until: 3000 })
})

test('a budget that includes the reserve for a response is checked before a stop condition', () => {
  const settings = checkSettings(
    {
      budget: { tokensPerGeneration: 100 },
      maxOutputTokens: 30,
      stopConditions: [{ hasToolCall: 'look' }],
    },
    'proj_a',
  )
  const calls = [call({})]
  expect(decide(situation({ settings, calls, usedTokens: 70 }))).toMatchObject({
    stopReason: 'STOP_CONDITION',
  })
  expect(decide(situation({ settings, calls, usedTokens: 71 }))).toMatchObject({ stopReason: 'BUDGET' })
})

test('a step rule wins over the agent, submitted settings win over both, and a forced tool is forced once', () => {
  const settings = checkSettings(
    {
      toolIds: ['t1', 't2'],
      toolChoice: { tool: 'look' },
      stepRules: [{ fromStep: 2, toStep: 2, toolChoice: { mode: 'NONE' }, activeToolIds: ['t1'] }],
    },
    'proj_a',
  )
  expect(planOf({ settings, stepCount: 0, nextStep: null })).toMatchObject({
    toolChoice: { tool: 'look' },
    activeToolIds: null,
  })
  expect(planOf({ settings, stepCount: 1, nextStep: null })).toMatchObject({
    toolChoice: { mode: 'NONE' },
    activeToolIds: ['t1'],
  })
  expect(planOf({ settings, stepCount: 1, nextStep: { activeToolIds: [] } })).toMatchObject({
    activeToolIds: [],
  })
  expect(planOf({ settings, stepCount: 2, nextStep: null })).toMatchObject({
    toolChoice: { mode: 'AUTO' },
    activeToolIds: null,
  })
})

test('every situation has a next act, and the model is called only when no call of the step is open', () => {
  const anyCall = fc.record({
    status: fc.constantFrom(...toolCallStatuses),
    deadline: fc.option(fc.integer({ min: 0, max: 20_000 })),
    step: fc.integer({ min: 1, max: 3 }),
  })
  const any = fc.record({
    calls: fc.array(anyCall, { maxLength: 6 }),
    stepCount: fc.integer({ min: 0, max: 3 }),
    now: fc.integer({ min: 0, max: 20_000 }),
    cancelRequested: fc.boolean(),
    maxSteps: fc.integer({ min: 1, max: 4 }),
    used: fc.integer({ min: 0, max: 200 }),
  })
  fc.assert(
    fc.property(any, ({ calls, stepCount, now, cancelRequested, maxSteps, used }) => {
      const made = calls.map((one, i) =>
        call({
          id: `c${i}`,
          stepIndex: one.step,
          status: one.status,
          deadlineAt: one.deadline === null ? null : new Date(one.deadline),
        }),
      )
      const settings = checkSettings({ maxSteps, budget: { tokensPerGeneration: 100 } }, 'proj_a')
      const s = situation({ calls: made, stepCount, now, cancelRequested, settings, usedTokens: used })
      const decision = decide(s)
      const open = made.filter((one) => one.stepIndex === stepCount && isOpen(one))
      if (decision.do === 'model' || decision.do === 'complete') expect(open).toEqual([])
      if (decision.do === 'model') {
        expect(decision.plan.stepIndex).toBe(stepCount + 1)
        expect(decision.plan.final !== null).toBe(stepCount >= maxSteps)
      }
      if (decision.do === 'run') expect(decision.calls.some((one) => s.inFlight.has(one.id))).toBe(false)
      if (decision.do === 'wait') expect(decision.until).toBeGreaterThan(now)
      expect(decide(s)).toEqual(decision)
    }),
    { numRuns: 1000 },
  )
})

const hand = (...ids: string[]) => new Set(ids)

test('an approved call runs while a sibling is in flight, waits for its verdict or for its client', () => {
  const calls = [
    call({ id: 'slow', status: 'EXECUTING' }),
    call({ id: 'approved', status: 'APPROVED' }),
    call({ id: 'asked', status: 'AWAITING_APPROVAL' }),
    call({ id: 'client', status: 'AWAITING_CLIENT', deadlineAt: new Date(5000) }),
  ]
  expect(decide(situation({ calls, inFlight: hand('slow') }))).toEqual({ do: 'run', calls: [calls[1]] })
  expect(decide(situation({ calls, inFlight: hand('slow', 'approved') }))).toEqual({
    do: 'waitForCalls',
    forMs: 4000,
  })
})

test('a call in flight is not run twice, and is allowed to finish before a cancel or the deadline', () => {
  const calls = [call({ id: 'a', status: 'EXECUTING' }), call({ id: 'b', status: 'PROPOSED' })]
  expect(decide(situation({ calls, inFlight: hand('a', 'b') }))).toMatchObject({ do: 'waitForCalls' })
  for (const over of [{ cancelRequested: true }, { now: 20_000 }]) {
    expect(decide(situation({ calls, inFlight: hand('a'), ...over }))).toEqual({
      do: 'waitForCalls',
      forMs: null,
    })
    expect(decide(situation({ calls: [calls[1]!], ...over }))).toEqual({
      do: 'cancelRequested' in over ? 'cancel' : 'expire',
    })
  }
})

test('a late client call times out also while a sibling is in flight', () => {
  const calls = [
    call({ id: 'slow', status: 'EXECUTING' }),
    call({ id: 'late', status: 'AWAITING_CLIENT', deadlineAt: new Date(900) }),
  ]
  expect(decide(situation({ calls, inFlight: hand('slow') }))).toEqual({ do: 'timeOut', calls: [calls[1]] })
})

test('an approval alone is waited for until the end of the generation, because it has a deadline of its own', () => {
  const calls = [call({ status: 'AWAITING_APPROVAL' })]
  expect(decide(situation({ calls }))).toEqual({ do: 'wait', until: 10_000 })
})

test('a call that a person lets run again is settled: nothing waits for it, whatever its status', () => {
  for (const status of ['PROPOSED', 'EXECUTING'] as const)
    expect(decide(situation({ calls: [call({ status, settledAt: new Date(1) })] }))).toMatchObject({
      do: 'model',
    })
})

test.each([
  ['REJECTED', 'approval_rejected', false],
  ['EXPIRED', 'approval_expired', false],
  ['ERRORED', 'tool_changed', false],
  ['ERRORED', 'tool_deleted', false],
  ['INVALID', 'invalid_arguments', false],
  ['SKIPPED', null, true],
  ['SUCCEEDED', null, true],
  ['ERRORED', 'http_500', true],
] as const)('a stop tool that is %s with %s ends the run: %s', (status, errorCode, ends) => {
  const settings = checkSettings({ stopConditions: [{ hasToolCall: 'look' }] }, 'proj_a')
  const decision = decide(situation({ settings, calls: [call({ status, errorCode })] }))
  expect(decision.do).toBe(ends ? 'complete' : 'model')
})
