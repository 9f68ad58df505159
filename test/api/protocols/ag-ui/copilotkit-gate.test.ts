/** Questions of the gate, and stops, in a page of CopilotKit. */
import { expect, onTestFinished, test } from 'vitest'
import { openInterrupts, shown, type CopilotPage } from './clients.ts'
import { copilotFixtures, judged, pageTool } from './copilotkit-fixtures.ts'

const copilot = copilotFixtures()
const { open, ask, openAgain, hits, runsOf } = copilot

judged('a question of the gate', () => {
  const resume = ({ core, agent }: CopilotPage, answer: object) =>
    core.runAgent({
      agent,
      resume: agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, ...answer })),
    })
  const resolved = (payload: object) => ({ status: 'resolved', payload })

  test('is an interrupt; the approved call runs once', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"granted"}\nthen\nsay done')
    expect(page.agent.pendingInterrupts).toMatchObject([
      { id: expect.stringMatching(/^apr_/), metadata: { toolName: 'look', arguments: { word: 'granted' } } },
    ])
    expect(hits('granted')).toBe(0)
    await resume(page, resolved({ approved: true }))
    expect(shown(page.agent).slice(1)).toEqual([
      ['assistant', '', 'look {"word":"granted"}'],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', 'done'],
    ])
    expect([hits('granted'), page.agent.pendingInterrupts, page.errors]).toEqual([1, [], []])
  })

  test('is answered as the frameworks of the client do, which add no result of their own', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"hook"}\nthen\nsay done')
    const state = await openInterrupts()
    state.setStandard(page.agent.pendingInterrupts)
    const answer = state.resolve({ approved: true, editedArgs: { word: 'edited' } })
    expect(answer).toMatchObject({ kind: 'resume', toolResults: [] })
    await page.core.runAgent({ agent: page.agent, resume: answer.resume! })
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    expect([hits('hook'), hits('edited'), page.errors]).toEqual([0, 1, []])
  })

  test('a rejected and a cancelled call do not run', async () => {
    for (const answer of [resolved({ approved: false, reason: 'no' }), { status: 'cancelled' }]) {
      const page = await open('gated')
      await ask(page, 'call look {"word":"refused"}\nthen\nsay done')
      await resume(page, answer)
      expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    }
    expect(hits('refused')).toBe(0)
  })

  test('a tool of the page is executed only after it was approved', async () => {
    const page = await open('gated')
    const executed = pageTool(page, 'locate')
    await ask(page, 'call locate {"word":"a"}\ncall locate {"word":"b"}\nthen\nsay done')
    expect([executed, page.agent.pendingInterrupts.length]).toEqual([[], 2])
    await resume(page, resolved({ approved: true }))
    expect(executed).toEqual([{ word: 'a' }, { word: 'b' }])
    expect([shown(page.agent).at(-1), page.errors]).toEqual([['assistant', 'done'], []])
  })

  test('is asked after the tools of the page, whose results it does not need', async () => {
    const gate = (mode: string) =>
      copilot.h.mutate('updateTool', { id: copilot.fixtures.tools.look, gate: { mode } }, 'tool { id }')
    onTestFinished(async () => {
      await gate('NEVER')
    })
    await gate('ALWAYS')
    const page = await open('plain')
    const executed = pageTool(page, 'locate')
    await ask(page, 'call locate {"word":"a"}\ncall look {"word":"mixed"}\nthen\nsay done')
    expect(executed).toEqual([{ word: 'a' }])
    expect(page.agent.pendingInterrupts).toMatchObject([{ metadata: { toolName: 'look' } }])
    expect(await runsOf(page, copilot.plain)).toMatchObject([{ status: 'AWAITING_APPROVAL' }])
    const again = await openAgain('plain', page)
    expect(again.agent.pendingInterrupts).toEqual(page.agent.pendingInterrupts)
    await resume(page, resolved({ approved: true }))
    expect([shown(page.agent).at(-1), hits('mixed')]).toEqual([['assistant', 'done'], 1])
    expect([executed.length, page.errors, again.errors]).toEqual([1, [], []])
    expect(shown(page.agent).filter(([role]) => role === 'tool')).toHaveLength(2)
  })

  test('a verdict from elsewhere: the page gives the question up, or opens the thread again', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"elsewhere"}\nthen\nsay done')
    const [{ id }] = page.agent.pendingInterrupts as [{ id: string }]
    await copilot.h.mutate('decideApproval', { approvalId: id, verdict: 'APPROVE' }, 'approval { id }')
    const again = await openAgain('gated', page)
    await resume(page, { status: 'cancelled' })
    for (const { agent } of [page, again]) {
      expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
      expect(agent.pendingInterrupts).toEqual([])
    }
    expect([hits('elsewhere'), page.errors, again.errors]).toEqual([1, [], []])
  })

  test('a page that was closed is asked again when it comes back', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"closed"}\nthen\nsay done')
    const again = await openAgain('gated', page)
    expect(again.agent.pendingInterrupts).toEqual(page.agent.pendingInterrupts)
    await resume(again, resolved({ approved: true }))
    expect([shown(again.agent).at(-1), hits('closed')]).toEqual([['assistant', 'done'], 1])
  })
})

judged('stop', () => {
  const long = 'slow 500ms\nsay a b c d e f g h i j k l m n o p q r s t'
  test('cancels the run, and the next message starts another', async () => {
    const page = await open('plain')
    let stopped = false
    page.agent.subscribe({
      onTextMessageContentEvent: () => {
        if (!stopped) page.core.stopAgent({ agent: page.agent })
        stopped = true
      },
    })
    await ask(page, long)
    expect(await runsOf(page, copilot.plain)).toMatchObject([{ status: 'CANCELLED' }])
    await ask(page, 'say next')
    expect([shown(page.agent).at(-1), page.errors]).toEqual([['assistant', 'next'], []])
  })

  test('of a run that waits: the question is given up, and the thread goes on', async () => {
    const page = await open('gated')
    await ask(page, 'call look {"word":"stopped"}\nthen\nsay done')
    page.core.stopAgent({ agent: page.agent })
    await expect.poll(async () => (await runsOf(page, copilot.gated))[0].status).toBe('CANCELLED')
    const [{ id }] = page.agent.pendingInterrupts as [{ id: string }]
    await page.core.runAgent({ agent: page.agent, resume: [{ interruptId: id, status: 'cancelled' }] })
    await ask(page, 'say next')
    expect([shown(page.agent).at(-1), hits('stopped')]).toEqual([['assistant', 'next'], 0])
  })
})
