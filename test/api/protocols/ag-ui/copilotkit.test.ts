/** CopilotKit's runtime protocol, judged by its own client: agents, text, tools and endings. */
import { expect, test } from 'vitest'
import { adminKey } from '../../../support/harness.ts'
import { openCore, said, shown } from './clients.ts'
import { copilotFixtures, judged, pageTool } from './copilotkit-fixtures.ts'

const copilot = copilotFixtures()
const { open, ask, runsOf } = copilot

judged('what the client asks first', () => {
  test('the agents of the project, by names that are parts of paths, else by ids', async () => {
    const odd = await copilot.fixtures.agent({ name: 'a/b?' })
    const { core, errors } = await openCore(copilot.h.url, adminKey)
    expect([Object.keys(core.agents).toSorted(), errors]).toEqual([[odd, 'gated', 'plain'].toSorted(), []])
    const page = await open(odd)
    await ask(page, 'say odd')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'odd'])
  })

  test('the transport of one address is refused with a sentence', async () => {
    const { core, errors } = await openCore(copilot.h.url, adminKey, { runtimeTransport: 'single' })
    expect(core.agents).toEqual({})
    expect(errors).toMatchObject([{ code: 'runtime_info_fetch_failed' }])
    expect(errors[0]!.message).toContain('400: method: is of the transport "single"')
  })

  test('a key that is none is told so', async () => {
    const { core, errors } = await openCore(copilot.h.url, 'nobody')
    expect([core.agents, errors[0]!.message]).toEqual([{}, expect.stringContaining('401')])
  })
})

judged('a run', () => {
  test('text is streamed, and the next message continues the thread', async () => {
    const page = await open('plain')
    const pieces: string[] = []
    page.agent.subscribe({
      onTextMessageContentEvent: ({ event }: any) => void pieces.push(event.delta),
    })
    await ask(page, 'slow 2000ms before\nslow 50ms\nsay one two three')
    expect(pieces.join('')).toBe('one two three')
    expect(pieces.length).toBeGreaterThan(1)
    await ask(page, 'say four')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'four'])
    expect([await runsOf(page, copilot.plain), page.errors]).toEqual([
      [expect.anything(), expect.anything()],
      [],
    ])
  })

  test('a call that runs here has its result in the messages', async () => {
    const page = await open('plain')
    await ask(page, 'call look {"word":"x"}\nthen\nsay done')
    expect(shown(page.agent).slice(1)).toEqual([
      ['assistant', '', 'look {"word":"x"}'],
      ['tool', expect.stringContaining('"saw"')],
      ['assistant', 'done'],
    ])
    expect(page.errors).toEqual([])
  })

  test('the page executes its tools once each, and the run goes on with their results', async () => {
    const page = await open('plain')
    const located = pageTool(page, 'locate')
    // The agent has this one: its definition is not sent.
    const told = pageTool(page, 'tell', { available: false })
    await ask(
      page,
      'call locate {"word":"a"}\ncall tell {"word":"b"}\ncall locate {"word":"c"}\nthen\nsay done',
    )
    expect([located, told]).toEqual([[{ word: 'a' }, { word: 'c' }], [{ word: 'b' }]])
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'done'])
    const runs = await runsOf(page, copilot.plain)
    expect(runs).toHaveLength(1)
    expect(runs[0].toolCalls.map(({ status }: any) => status)).toEqual(Array(3).fill('SUCCEEDED'))
    expect(page.errors).toEqual([])
  })

  test('a result that the page kept is given with the next message', async () => {
    const page = await open('plain')
    pageTool(page, 'locate', { followUp: false })
    await ask(page, 'call locate {"word":"a"}\nthen\nsay found')
    expect(await runsOf(page, copilot.plain)).toMatchObject([{ status: 'REQUIRES_ACTION' }])
    await ask(page, 'say next')
    expect(shown(page.agent).slice(-3)).toEqual([
      ['user', 'say next'],
      ['assistant', 'found'],
      ['assistant', 'next'],
    ])
    expect(await runsOf(page, copilot.plain)).toMatchObject([
      { status: 'COMPLETED' },
      { status: 'COMPLETED' },
    ])
    expect(page.errors).toEqual([])
  })

  test('when that run asks for more, the page is told that its message was not taken', async () => {
    const page = await open('plain')
    pageTool(page, 'locate', { followUp: false })
    await ask(page, 'call locate {"word":"a"}\nthen\ncall locate {"word":"b"}\nthen\nsay found')
    await ask(page, 'say next')
    expect(page.errors).toMatchObject([{ message: expect.stringContaining('asks for more') }])
    await ask(page, 'say again')
    expect(shown(page.agent).slice(-2)).toEqual([
      ['assistant', 'found'],
      ['assistant', 'again'],
    ])
  })

  test('a failed run is an error of the page, and a new message goes on', async () => {
    const page = await open('plain')
    await ask(page, 'fail 400')
    expect(page.errors).toMatchObject([{ code: 'agent_run_error_event', message: expect.any(String) }])
    await ask(page, 'say better')
    expect(shown(page.agent).at(-1)).toEqual(['assistant', 'better'])
  })

  test('a request that is repeated does not start a second run', async () => {
    const message = said('call locate {"word":"a"}\nthen\nsay done')
    const pages = [await open('plain', 'twice'), await open('plain', 'twice')]
    const executed = pages.map((page) => pageTool(page, 'locate'))
    await Promise.all(
      pages.map(async ({ core, agent }) => {
        agent.addMessage(message)
        await core.runAgent({ agent })
      }),
    )
    for (const { agent } of pages) expect(shown(agent).at(-1)).toEqual(['assistant', 'done'])
    expect(executed.flat().length).toBeGreaterThan(0)
    const runs = await runsOf(pages[0]!, copilot.plain)
    expect(runs).toMatchObject([{ toolCalls: [{ name: 'locate', status: 'SUCCEEDED' }] }])
  })
})
