/** Bounded work: stopped by its own CPU time, and not because the machine was busy. */
import { expect, test } from 'vitest'
import { runBounded, runBoundedFor, createCooldown } from '../../src/core/bounded.ts'

const spin = (ms: number) => {
  const end = performance.now() + ms
  while (performance.now() < end);
}
/** Takes no CPU time until it is stopped, as a process does that the machine does not schedule. */
const beDescheduled = () => {
  const word = new Int32Array(new SharedArrayBuffer(4))
  for (;;) Atomics.wait(word, 0, 0, 5)
}

test('work that ends in time gives its value, and its own error', () => {
  expect(runBounded(1000, () => 7)).toEqual({ ok: true, value: 7 })
  expect(() =>
    runBounded(1000, () => {
      throw new TypeError('own')
    }),
  ).toThrow('own')
})

const endless = () => {
  for (;;);
}

/** How often work was stopped. Work may be stopped before it begins; the clock is read once before and after each try. */
function triesOf(ms: number, work: () => void, now: () => number): number {
  let readings = 0
  const done = runBounded(ms, work, () => {
    readings += 1
    return now()
  })
  expect(done).toEqual({ ok: false })
  return readings - 1
}

test('work without end is stopped after one try that used its CPU time', () => {
  // A machine with nothing else to do.
  expect(triesOf(40, endless, () => performance.now())).toBe(1)
})

test('work that got no CPU time is tried again, and succeeds when the machine is free', () => {
  let tries = 0
  const done = runBounded(300, () => {
    tries += 1
    if (tries === 1) beDescheduled()
    return 'done'
  })
  expect(done).toEqual({ ok: true, value: 'done' })
  expect(tries).toBeGreaterThan(1)
})

test('on a machine that never schedules the process it gives up after three tries', () => {
  expect(
    triesOf(
      10,
      () => spin(60),
      () => 0,
    ),
  ).toBe(3)
})

test('tries share one limit of CPU time', () => {
  const readings = [0, 30, 60]
  expect(triesOf(100, endless, () => readings.shift()!)).toBe(2)
})

test('a project that lost its budget has a short limit, and no other project has', () => {
  // What it loses is CPU time: on a busy machine each try uses less of it.
  const before = process.cpuUsage()
  while (process.cpuUsage(before).user < 1_000_000)
    expect(runBoundedFor('proj_greedy', 100, endless).ok).toBe(false)
  expect(runBoundedFor('proj_greedy', 100, () => spin(60)).ok).toBe(false)
  expect(runBoundedFor('proj_modest', 2000, () => spin(60)).ok).toBe(true)
})

test('inside other bounded work only the outermost limit counts', () => {
  expect(runBounded(1000, () => runBounded(5, () => spin(30)))).toEqual({
    ok: true,
    value: { ok: true, value: undefined },
  })
})

test('a cooldown is active from its start only', () => {
  const cooldown = createCooldown()
  expect(cooldown.isActive()).toBe(false)
  cooldown.start()
  expect(cooldown.isActive()).toBe(true)
})
