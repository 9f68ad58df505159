/** Work that never runs twice at the same time. */
import { expect, test } from 'vitest'
import { oneAtATime } from '../../src/core/async-work.ts'

/** So many turns of the queue of promises after the work, a call must still be seen. */
const turns = 12

test('a call in the moment in which a run ends is followed by a run', async () => {
  for (let turn = 0; turn <= turns; turn++) {
    let runs = 0
    let finish = () => {}
    const gate = new Promise<void>((resolve) => (finish = resolve))
    const run = oneAtATime(async () => {
      runs++
      await gate
    })
    const first = run()
    const second = (async () => {
      await gate
      for (let i = 0; i < turn; i++) await Promise.resolve()
      await run()
    })()
    finish()
    await Promise.all([first, second])
    expect(runs, `${turn} turns later`).toBe(2)
  }
})

test('calls of one run share one more, and a failure ends neither', async () => {
  const gates: (() => void)[] = []
  let runs = 0
  const run = oneAtATime(async () => {
    runs++
    await new Promise<void>((resolve) => gates.push(resolve))
    if (runs === 1) throw new Error('once')
  })
  const first = run()
  gates.shift()!()
  await expect(first).rejects.toThrow('once')
  const all = [run(), run(), run()]
  gates.shift()!()
  await expect.poll(() => gates.length).toBe(1)
  gates.shift()!()
  await Promise.all(all)
  expect(runs).toBe(3)
})
