/** A page of CopilotKit that comes back, a foreign key, and what is refused. */
import { expect, test } from 'vitest'
import { adminKey } from '../../../support/harness.ts'
import { openCore, shown, type CopilotPage } from './clients.ts'
import { copilotFixtures, judged, pageTool } from './copilotkit-fixtures.ts'

const copilot = copilotFixtures()
const { open, ask, openAgain, hits, runsOf } = copilot

judged('a page that comes back', () => {
  test('shows the conversation, and nothing twice', async () => {
    const page = await open('plain')
    pageTool(page, 'locate')
    await ask(page, 'call look {"word":"x"}\nthen\nsay one')
    await ask(page, 'fail 400')
    await ask(page, 'call locate {"word":"a"}\nthen\nsay two')
    const again = await openAgain('plain', page)
    expect(shown(again.agent)).toEqual(shown(page.agent))
    await again.core.connectAgent({ agent: again.agent })
    expect(shown(again.agent)).toEqual(shown(page.agent))
    await ask(again, 'say three')
    expect(shown(again.agent).at(-1)).toEqual(['assistant', 'three'])
    const [first] = again.agent.messages
    expect(first!['id']).toMatch(/^msg_/)
  })

  test('gets the newest 20 runs of a long thread', async () => {
    const externalId = 'long thread'
    const { thread } = await copilot.h.mutate(
      'createThread',
      { agentId: copilot.plain, externalId },
      'thread { id }',
    )
    for (let i = 1; i <= 21; i++)
      await copilot.h.until(
        await copilot.fixtures.start(copilot.plain, `say ${i}`, { threadId: thread.id }),
        ['COMPLETED'],
      )
    const page = await open('plain', externalId)
    await page.core.connectAgent({ agent: page.agent })
    const texts = shown(page.agent).map(([, content]) => content)
    expect(texts).toEqual(Array.from({ length: 20 }, (_one, i) => [`say ${i + 2}`, `${i + 2}`]).flat())
  })

  test('follows the run that goes on', async () => {
    const page = await open('plain')
    const text = 'a b c d e f g h i j'
    let again: Promise<CopilotPage> | undefined
    page.agent.subscribe({
      onTextMessageContentEvent: () => void (again ??= openAgain('plain', page)),
    })
    await ask(page, `slow 150ms\nsay ${text}`)
    expect(shown((await again)!.agent)).toEqual(shown(page.agent))
    expect(await runsOf(page, copilot.plain)).toHaveLength(1)
  })

  test('asks a person again with a tool of that type, whose answer goes on', async () => {
    const page = await open('plain')
    const prompt = 'call ask {"word":"w"}\nthen\nsay done'
    await ask(page, prompt)
    const again = await open('plain', page.agent.threadId)
    const executed = pageTool(again, 'ask', { type: 'human-in-the-loop', available: false })
    const ended = new Promise<void>((resolve) => {
      again.agent.subscribe({
        onTextMessageEndEvent: ({ textMessageBuffer }: any) => textMessageBuffer === 'done' && resolve(),
      })
    })
    await again.core.connectAgent({ agent: again.agent })
    await ended
    expect(executed).toEqual([{ word: 'w' }])
    expect(await runsOf(page, copilot.plain)).toMatchObject([
      { toolCalls: [{ name: 'ask', status: 'SUCCEEDED' }] },
    ])
  })

  test('goes on with a message although a call of its tool was lost with the page before', async () => {
    const page = await open('plain')
    await ask(page, 'call ask {"word":"lost"}\nthen\nsay sorry')
    const again = await openAgain('plain', page)
    await ask(again, 'say next')
    expect(shown(again.agent).slice(-3)).toEqual([
      ['user', 'say next'],
      ['assistant', 'sorry'],
      ['assistant', 'next'],
    ])
    const [, lost] = await runsOf(page, copilot.plain)
    expect(lost).toMatchObject({ status: 'COMPLETED', toolCalls: [{ name: 'ask', status: 'ERRORED' }] })
    expect(again.errors).toEqual([])
  })

  test('a message of the user that has its run is not run again', async () => {
    const page = await open('plain')
    await ask(page, 'fail 400')
    const again = await openAgain('plain', page)
    expect(shown(again.agent)).toEqual([['user', 'fail 400']])
    await again.core.runAgent({ agent: again.agent })
    expect(again.errors.map(({ code }) => code)).toEqual(['agent_run_error_event', 'agent_run_error_event'])
    expect(await runsOf(page, copilot.plain)).toHaveLength(1)
  })

  test('a thread without runs has no messages', async () => {
    const page = await open('plain')
    await page.core.connectAgent({ agent: page.agent })
    expect([page.agent.messages, page.errors]).toEqual([[], []])
  })
})

judged('a foreign key', () => {
  test('finds neither agents nor threads, and stops nothing', async () => {
    const { project } = await copilot.h.mutate('createProject', { name: 'other' }, 'project { id }')
    const { secret } = await copilot.h.mutate(
      'createApiKey',
      { projectId: project.id, name: 'k', role: 'ADMIN' },
      'secret',
    )
    const mine = await open('gated')
    await ask(mine, 'call look {"word":"stolen"}\nthen\nsay done')
    expect((await openCore(copilot.h.url, secret)).core.agents).toEqual({})
    const post = (path: string, key: string) =>
      fetch(`${copilot.h.url}/copilotkit/agent/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: mine.agent.threadId, runId: 'r', messages: [] }),
      })
    const stop = `stop/${encodeURIComponent(mine.agent.threadId)}`
    for (const path of ['gated/connect', 'gated/run', `${copilot.gated}/connect`, `${copilot.gated}/${stop}`])
      expect((await post(path, secret)).status).toBe(404)
    // Also with an agent of the same name.
    await copilot.h.mutate('createAgent', { name: 'gated', projectId: project.id }, 'agent { id }', secret)
    expect(await (await post('gated/connect', secret)).text()).toBe('')
    expect((await post('gated/run', secret)).status).toBe(400)
    expect(await (await post(`gated/${stop}`, secret)).json()).toEqual({ stopped: false })
    expect((await post('gated/connect', 'nobody')).status).toBe(401)
    expect(await runsOf(mine, copilot.gated)).toMatchObject([{ status: 'AWAITING_APPROVAL' }])
    expect(hits('stolen')).toBe(0)
  })
})

test('what is not served is refused', async () => {
  const request = async (method: string, path: string, body?: string) => {
    const response = await fetch(`${copilot.h.url}/copilotkit${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
    const { error, message } = (await response.json()) as any
    expect(message).toBe(error.message)
    return [response.status, error.code, error.path ?? null]
  }
  expect(await request('POST', '', '{"method":"info"}')).toEqual([400, 'INVALID', 'method'])
  expect(await request('GET', '')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('GET', '/threads')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/info', '{}')).toEqual([405, 'INVALID', null])
  expect(await request('GET', '/agent/plain/run')).toEqual([405, 'INVALID', null])
  expect(await request('POST', '/agent/plain/suggest', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/nobody/connect', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/%E0%A4%A/connect', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/plain/stop/%E0%A4%A', '{}')).toEqual([404, 'NOT_FOUND', null])
  expect(await request('POST', '/agent/plain/stop/t', '{')).toEqual([400, 'INVALID', 'body'])
  expect(await request('POST', '/agent/plain/connect', '{}')).toEqual([400, 'INVALID', 'threadId'])
  const state = { threadId: 't', runId: 'r', messages: [], state: { cart: [] } }
  expect(await request('POST', '/agent/plain/connect', JSON.stringify(state))).toEqual([
    400,
    'INVALID',
    'state',
  ])
})
