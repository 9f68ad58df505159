/**
 * The gate over a real provider protocol: rejections, expiry and edits reach the model, and its history stays valid.
 */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { openHarness } from '../../support/harness.ts'
import { makeFixtures } from '../../support/fixtures.ts'
import { addProvider, startStrictProvider } from '../../support/strict-provider.ts'
import { forFile } from '../../support/for-file.ts'

const provider = await forFile(startStrictProvider())
const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)
afterEach(() => expect(provider.clear()).toBe(0))

describe.each(['openai', 'anthropic', 'google', 'compatible'] as const)('%s', (kind) => {
  beforeAll(() => addProvider(h, provider, kind, `my-${kind}`))

  /** A step with two gated calls. Returns the generation and both approvals, in call order. */
  async function twoCalls() {
    const tool = await gate.gated({ autoApprove: false })
    const call = (amount: number) => ({ name: tool.name, arguments: JSON.stringify({ amount }) })
    provider.script({ calls: [call(1), call(2)] })
    const agent = await fixtures.agent({ toolIds: [tool.id], model: `my-${kind}/m` })
    const id = await fixtures.start(agent, 'Go.')
    const approvals = await gate.pending(id)
    const of = (amount: number) =>
      approvals.find((one) => one['arguments'].amount === amount)!['id'] as string
    provider.script({ text: 'I see.' })
    return { id, tool, of }
  }

  /** The last request as text; checks that the provider accepted it. */
  async function told(id: string): Promise<string> {
    expect(await h.until(id, ['COMPLETED', 'FAILED'])).toMatchObject({
      status: 'COMPLETED',
      output: { text: 'I see.' },
    })
    const { fault, body } = provider.journal.at(-1)!
    expect(fault).toBeNull()
    return JSON.stringify(body).replaceAll('\\', '')
  }

  test('a rejection and an expiry are error results with their code, including the reason', async () => {
    const { id, of, tool } = await twoCalls()
    await gate.decide(of(1), 'REJECT', { reason: 'the budget is spent', note: 'a secret note' })
    await gate.bringForward(of(2), 'expiry')
    const text = await told(id)
    for (const word of ['approval_rejected', 'the budget is spent', 'approval_expired', 'in time'])
      expect(text).toContain(word)
    expect(text).not.toContain('a secret note')
    expect(gate.paid(tool.name)).toEqual([])
  })

  test('an edit is reported by the names of the changed arguments', async () => {
    const { id, of, tool } = await twoCalls()
    await gate.decide(of(1), 'APPROVE', { arguments: { amount: 7, to: 'x' } })
    await gate.decide(of(2), 'APPROVE')
    const text = await told(id)
    expect(text.match(/A person changed these arguments before the call ran: [^."]*/g)).toEqual([
      'A person changed these arguments before the call ran: amount, to',
    ])
    expect(
      gate
        .paid(tool.name)
        .map((one) => one.body)
        .toSorted((a, b) => b['amount'] - a['amount']),
    ).toEqual([{ amount: 7, to: 'x' }, { amount: 2 }])
  })
})
