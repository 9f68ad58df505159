/** Frameworks with their defaults, each against the same agents: text, streams, tools on both sides, gates, time limits and keys. */
import { describe, expect, test } from 'vitest'
import { hasPeers } from '../../../support/peers.ts'
import { acting, useProgramAgents, type ProgramAgents } from '../../../support/program-agents.ts'
import { frameworks, type Door, type Locate } from './clients.ts'

let agents: ProgramAgents
useProgramAgents(hasPeers, (parts) => (agents = parts))

const door = (agent: string, more: Partial<Door> = {}): Door => ({
  url: agents.h.url,
  key: agents.programKey,
  agent,
  ...more,
})

describe.skipIf(!hasPeers).concurrent.each(frameworks)('%s', (name, open, givenUp) => {
  test('text, and a call that runs here', async () => {
    const client = await open(door('plain'))
    expect(await client.ask(`say hello ${name}`)).toBe(`hello ${name}`)
    expect(await client.ask(acting(`runs ${name}`))).toBe('went on')
    expect(agents.acted(`runs ${name}`)).toBe(1)
  })

  test('a stream comes in pieces: what is said before a verdict comes before it', async () => {
    const word = `pieces ${name}`
    const client = await open(door('gated'))
    let text = ''
    let deciding: Promise<void> | undefined
    for await (const piece of client.stream(`say part\n${acting(word)}`)) {
      text += piece
      if (piece) deciding ??= agents.decide(word, { verdict: 'APPROVE' })
    }
    await deciding
    expect(text).toMatch(/^part\s*went on$/)
  })

  test('a stream that is broken off leaves its run, which goes on', async () => {
    const client = await open(door('plain'))
    for await (const piece of client.stream(`say left ${name} in the middle\nslow 30ms`)) if (piece) break
    const { id } = await agents.runOf(`say left ${name} in`)
    const ended = await agents.h.until(id, ['COMPLETED'])
    expect(ended).toMatchObject({ output: { text: `left ${name} in the middle` } })
  })

  test('a tool of the program runs there, once for each call', async () => {
    const client = await open(door('plain'))
    const rooms: string[] = []
    const locate: Locate = (room) => `found ${rooms.push(room)}`
    const calls = `call locate {"room": "a"}\ncall locate {"room": "b"}\nthen\ncall locate {"room": "c"}`
    expect(await client.ask(`${calls}\nthen\nsay found ${name}`, { locate })).toBe(`found ${name}`)
    expect(rooms.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['approves', { verdict: 'APPROVE' }, [1, 0]],
    ['rejects', { verdict: 'REJECT', reason: 'No.' }, [0, 0]],
    ['edits', { verdict: 'APPROVE', arguments: { word: `better edits ${name}` } }, [0, 1]],
  ])('a gate holds the request until a person %s', async (what, verdict, ran) => {
    const word = `${what} ${name}`
    const client = await open(door('gated'))
    const [answer] = await Promise.all([client.ask(acting(word)), agents.decide(word, verdict)])
    expect(answer).toBe('went on')
    expect([agents.acted(word), agents.acted(`better ${word}`)]).toEqual(ran)
  })

  // LlamaIndex takes no signal.
  const withSignal = name.startsWith('@llamaindex/') ? null : test
  withSignal?.('a signal ends the request and not the run; what follows runs nothing twice', async () => {
    const word = `aborted ${name}`
    const client = await open(door('gated'))
    const atGate = new AbortController()
    const left = client.ask(acting(word), { signal: atGate.signal }).catch((error: Error) => error.message)
    const { generation } = await agents.asked(word)
    atGate.abort()
    expect(await left).toEqual(givenUp === 'nothing' ? '' : expect.stringMatching(/abort/))
    expect(await client.ask(`say next ${name}`)).toBe(`next ${name}`)
    expect(await agents.h.until(generation.id, ['AWAITING_APPROVAL'])).toBeTruthy()
    await agents.decide(word, { verdict: 'APPROVE' })
    expect(await client.ask(acting(word))).toBe('went on')
    expect([agents.acted(word), (await agents.questions(word)).length]).toEqual([1, 1])
  })

  withSignal?.('so it does in the middle of a stream', async () => {
    const word = `streamed ${name}`
    const client = await open(door('gated'))
    const midway = new AbortController()
    let seen = ''
    const reading = async () => {
      for await (const piece of client.stream(`say part\n${acting(word)}`, { signal: midway.signal })) {
        seen += piece
        if (piece) midway.abort()
      }
    }
    await reading().catch(() => {})
    expect(seen).toBe('part')
    const { generation } = await agents.asked(word)
    await agents.decide(word, { verdict: 'APPROVE' })
    const ended = await agents.h.until(generation.id, ['COMPLETED'])
    expect([ended['output'].text, agents.acted(word)]).toEqual(['went on', 1])
  })

  test('a person who takes longer than it waits: the same request goes on, and nothing runs twice', async () => {
    const word = `late ${name}`
    const hasty = await open(door('gated', { timeout: 3000, maxRetries: 1 }))
    const first = await hasty.ask(acting(word)).catch((error: Error) => error)
    if (givenUp === 'words') expect(first).toMatch(/^This waits for an approval:.*\/approvals\/apr_/s)
    else if (givenUp === 'an error') expect(String(first)).toMatch(/timed out|timeout|aborted/i)
    else expect(first).toBe('')
    const client = await open(door('gated'))
    const [answer] = await Promise.all([
      client.ask(acting(word)),
      agents.decide(word, { verdict: 'APPROVE' }),
    ])
    expect(answer).toBe('went on')
    expect([agents.acted(word), (await agents.questions(word)).length]).toEqual([1, 1])
  })

  test('a wrong key and an agent that does not exist are errors that say so', async () => {
    const refused = async (more: Partial<Door>) =>
      (await open(door('plain', { maxRetries: 0, ...more }))).ask('say x').then(
        () => null,
        (error: Error) => error.message,
      )
    expect(await refused({ key: 'gh_nobody' })).toContain('A valid API key is required')
    expect(await refused({ agent: 'nobody' })).toContain('No agent with the id')
  })
})
