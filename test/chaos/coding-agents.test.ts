/** Claude Code ends at a call and is resumed, while the server is killed between each two steps: one effect. */
import { describe, expect, test } from 'vitest'
import { ask, mutate } from '../support/ask.ts'
import { codingAgent } from '../support/peers.ts'
import { openSession, type Session } from '../api/protocols/coding-agents/judged.ts'
import { key, kinds, startKillable, type Killable } from './killable.ts'

interface Work {
  server: Killable
  session: Session
  /** Kills the server in this moment and starts the next one; the agent is told where it is. */
  killServer(): Promise<void>
  /** The result that a run of the agent prints. */
  result(args?: string[]): Promise<Record<string, any>>
}

async function using(kind: string, work: (parts: Work) => Promise<void>): Promise<void> {
  const server = await startKillable(kind)
  const options = ['--headless', '--wait', '1']
  const session = await openSession('claude', { url: server.url(), adminKey: key }, { options })
  try {
    await work({
      server,
      session,
      async killServer() {
        await server.kill()
        await server.start()
        await session.rewrite((text) => text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, server.url()))
      },
      async result(args) {
        const program = session.start(args)
        await program.ended
        return JSON.parse(program.printed())
      },
    })
  } finally {
    await session.close()
    await server.close()
  }
}

const resuming = (id: string) => ['-p', '--resume', id, '--output-format', 'json', '--allowedTools', 'Bash']

async function callsOf(server: Killable): Promise<any[]> {
  const { data } = await ask(
    server.url(),
    key,
    '{ toolCalls(first: 10) { nodes { id status attempt approval { id } } } }',
  )
  return data['toolCalls'].nodes
}
async function approve(server: Killable): Promise<void> {
  const [call] = await callsOf(server)
  const input = { approvalId: call.approval.id, verdict: 'APPROVE' }
  await mutate(server.url(), key, 'decideApproval', input, 'approval { status }')
}

describe.skipIf(codingAgent('claude') === null)('on', () => {
  test.each(kinds)('%s: killed between the steps', { timeout: 600_000 }, (kind) =>
    using(kind, async ({ server, session, killServer, result }) => {
      const first = await result()
      expect(first['stop_reason']).toBe('tool_deferred')
      await killServer()
      const again = resuming(first['session_id'])
      expect((await result(again))['stop_reason']).toBe('tool_deferred')
      await killServer()
      await approve(server)
      await killServer()
      expect((await result(again))['result']).toBe('done')
      await killServer()
      expect(await session.lines()).toEqual(['line'])
      // There is nothing left to go on with: it says so.
      await Promise.all([session.start(again).ended, session.start(again).ended])
      expect(await session.lines()).toEqual(['line'])
      expect(await callsOf(server)).toMatchObject([{ status: 'SUCCEEDED', attempt: 1 }])
    }),
  )

  test.each(kinds)('%s: two resume at once', { timeout: 600_000 }, (kind) =>
    using(kind, async ({ server, session, result }) => {
      const first = await result()
      await approve(server)
      const again = resuming(first['session_id'])
      await Promise.all([1, 2, 3].map(() => session.start(again).ended))
      expect(await session.lines()).toEqual(['line'])
      expect(await callsOf(server)).toMatchObject([{ attempt: 1 }])
    }),
  )

  test.each(kinds)('%s: killed while it waits, and asked again', { timeout: 600_000 }, (kind) =>
    using(kind, async ({ server, session, killServer, result }) => {
      await session.rewrite((text) => text.replaceAll('wait=1', 'wait=600'))
      const held = session.start()
      await expect.poll(async () => (await callsOf(server)).length).toBe(1)
      await server.kill()
      await held.ended
      expect(await session.lines()).toEqual([])
      await server.start()
      await killServer()
      await session.rewrite((text) => text.replaceAll('wait=600', 'wait=1'))
      await approve(server)
      expect(await session.lines()).toEqual([])
      // It was denied when the connection ended: a new run is a new question.
      expect((await result())['stop_reason']).toBe('tool_deferred')
      expect(await session.lines()).toEqual([])
    }),
  )
})
