/** The transition table of tool calls, compared with the statuses and with a real database. */
import { expect, test } from 'vitest'
import {
  isNewest,
  isOpen,
  toolCallStatuses,
  transitions,
  type ToolCallStatus,
} from '../../../src/domain/tool-calls/index.ts'

const all = Object.entries(transitions) as [
  string,
  { from: readonly ToolCallStatus[] | null; to: readonly ToolCallStatus[] },
][]
const reachable = () => {
  const reached = new Set<ToolCallStatus>(transitions.propose.to)
  for (let size = -1; size !== reached.size;) {
    size = reached.size
    for (const { from, to } of all.map(([, one]) => one))
      if (from?.some((status) => reached.has(status))) to.forEach((status) => reached.add(status))
  }
  return reached
}

test('every status can be reached, and nothing else', () => {
  expect(reachable()).toEqual(new Set(toolCallStatuses))
})

test('a settled call moves only when its outcome was unknown', () => {
  const settledAt = new Date()
  const settled = toolCallStatuses.filter((status) => !isOpen({ status, settledAt: null }))
  for (const [name, { from }] of all)
    for (const status of from ?? [])
      if (settled.includes(status)) expect([name, status]).toEqual([name, 'UNKNOWN'])
  expect(isOpen({ status: 'PROPOSED', settledAt })).toBe(false)
})

test('every open status has a way to be settled', () => {
  const settles = (status: ToolCallStatus) =>
    all.some(
      ([, { from, to }]) =>
        from?.includes(status) && to.some((next) => !isOpen({ status: next, settledAt: null })),
    )
  for (const status of toolCallStatuses)
    if (isOpen({ status, settledAt: null })) expect(settles(status), status).toBe(true)
})

test('an attempt of the same number is not the newest when another process has begun it', () => {
  const own = { id: 'call_1', attempt: 2, token: 'own' }
  const callOf = (token: string) => ({ id: 'call_1', attempt: 2, attempts: [{ token: 'first' }, { token }] })
  expect([isNewest(own, callOf('own')), isNewest(own, callOf('other'))]).toEqual([true, false])
})
