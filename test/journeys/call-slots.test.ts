/** Slow approved calls outside runs do not delay each other. */
import { expect, test } from 'vitest'
import { gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'

test.each([
  ['by default', {}, 12],
  ['by GATEHOUSE_CALL_SLOTS', { callSlots: 2 }, 2],
])('as many run at once as there are slots: %s', async (_how, config, slots) => {
  const answers: (() => void)[] = []
  const slow = await startLoopback((_request, response) => void answers.push(() => response.end('late')))
  const h = await openHarness(config)
  const fixtures = await makeFixtures(h)
  const gate = gateFixtures(h, fixtures)
  const http = { url: `${slow.url}/slow`, inputSchema: objectSchema({}) }
  const input = { name: 'slow', config: { http }, gate: { autoApprove: false } }
  const { tool } = await h.mutate('createTool', input, 'tool { id }')
  const calls = await Promise.all(Array.from({ length: 12 }, () => gate.call(tool.id, {})))
  for (const call of calls) await gate.decide(call['approval'].id, 'APPROVE')
  while (answers.length < slots) await new Promise((resolve) => setImmediate(resolve))
  expect(answers).toHaveLength(slots)
  for (let done = 0; done < calls.length;) {
    const answer = answers.shift()
    if (answer) done++
    if (answer) answer()
    else await new Promise((resolve) => setImmediate(resolve))
  }
  for (const call of calls) await gate.untilCall(call['id'], ['SUCCEEDED'])
  expect(slow.seen).toHaveLength(12)
  await Promise.all([fixtures.close(), slow.close()])
  await h.stop()
})
