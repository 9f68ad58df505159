/** SIGKILL while somebody rejects and stops: either nothing was written, or the run ends. Its model never goes on after the rejection. */
import { expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { dose } from '../support/dose.ts'
import { randomSchedule } from '../support/random.ts'
import { key, kinds, startKillable, type Killable } from './killable.ts'

const random = randomSchedule()
const rounds = dose(6, 40)
/** The longest time between the verdict and the kill, in milliseconds: most verdicts are written by then. */
const longest = 60

interface Run {
  id: string
  approvalId: string
}

const stop = ({ approvalId }: Run) => ({ approvalId, verdict: 'REJECT', stop: true, reason: 'enough' })

async function stateOf(server: Killable, { id, approvalId }: Run): Promise<Record<string, any>> {
  const { data } = await ask(
    server.url(),
    key,
    'query($g: ID!, $a: ID!) { generation(id: $g) { status stepCount } approval(id: $a) { status votes { stop } } }',
    { g: id, a: approvalId },
  )
  return data
}

async function waiting(server: Killable): Promise<Run> {
  const input = { agentId: server.agents.careful, prompt: 'call pay {}\nthen\nsay never' }
  const { generation } = await mutate(server.url(), key, 'startGeneration', input, 'generation { id }')
  const pending = async () => {
    const { data } = await ask(
      server.url(),
      key,
      'query($g: ID!) { generation(id: $g) { requiredAction { approvals { id } } } }',
      { g: generation.id },
    )
    return data['generation'].requiredAction?.approvals[0]?.id as string | undefined
  }
  await expect.poll(pending).toBeTruthy()
  return { id: generation.id, approvalId: (await pending())! }
}

test.each(kinds)('on %s', { timeout: 600_000 }, async (kind) => {
  const server = await startKillable(kind)
  let written = 0
  try {
    for (let round = 0; round < rounds; round++) {
      const run = await waiting(server)
      const verdict = mutate(server.url(), key, 'decideApproval', stop(run), 'approval { status }').catch(
        () => null,
      )
      await new Promise((resolve) => setTimeout(resolve, random() * longest))
      await server.kill()
      const isAnswered = (await verdict) !== null
      await server.start()
      const { approval } = await stateOf(server, run)
      if (isAnswered) expect(approval.status).toBe('REJECTED')
      if (approval.status === 'REJECTED') written++
      else await mutate(server.url(), key, 'decideApproval', stop(run), 'approval { status }')
      await expect.poll(async () => (await stateOf(server, run))['generation'].status).toBe('CANCELLED')
      expect(await stateOf(server, run)).toMatchObject({
        generation: { stepCount: 1 },
        approval: { status: 'REJECTED', votes: [{ stop: true }] },
      })
    }
    expect(server.paid()).toBe(0)
    console.log(`${written} of ${rounds} verdicts were written before the kill`)
  } finally {
    await server.close()
  }
})
