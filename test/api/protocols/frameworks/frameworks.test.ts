/** Frameworks with their defaults, each against the same agents: text, streams, tools on both sides, gates, time limits and keys. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'
import { openHarness, type Harness } from '../../../support/harness.ts'
import { hasPeers } from '../../../support/peers.ts'
import { frameworks, type Door, type Locate } from './clients.ts'

let h: Harness
let fixtures: Fixtures
/** Of a program, which may not decide. */
let programKey: string

beforeAll(async () => {
  if (!hasPeers) return
  // They print the errors that these tests are about.
  for (const method of ['error', 'warn', 'log'] as const)
    vi.spyOn(console, method).mockImplementation(() => undefined)
  h = await openHarness()
  fixtures = await makeFixtures(h)
  await fixtures.agent({ name: 'plain' })
  await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' }, toolIds: [fixtures.tools.act] })
  programKey = (await h.mutate('createApiKey', { name: 'program', role: 'CALLER' }, 'secret'))['secret']
})
afterAll(async () => {
  vi.restoreAllMocks()
  await fixtures?.close()
  await h?.stop()
})

const door = (agent: string, more: Partial<Door> = {}): Door => ({
  url: h.url,
  key: programKey,
  agent,
  ...more,
})
const acting = (word: string) => `call act {"word": "${word}"}\nthen\nsay went on`
const acted = (word: string) => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${word}"`)).length

/** The questions about this word, those that were answered too. */
async function questions(word: string): Promise<{ id: string; arguments: { word: string } }[]> {
  const { data } = await h.gql('{ approvals(first: 100) { nodes { id originalArguments arguments } } }')
  return data['approvals'].nodes.filter((one: Record<string, any>) =>
    [one['originalArguments'], one['arguments']].some((args) => args?.word === word),
  )
}

/** Decides as soon as the question about this word is asked. */
async function decide(word: string, verdict: object) {
  const asked = async () => {
    const [question] = await questions(word)
    if (!question) throw new Error(`Nothing is asked about ${word}.`)
    return question.id
  }
  const approvalId = await vi.waitFor(asked, { timeout: 20_000, interval: 20 })
  await h.mutate('decideApproval', { approvalId, ...verdict }, '__typename')
}

async function runOf(text: string): Promise<{ id: string; status: string }> {
  const { data } = await h.gql('{ generations(first: 100) { nodes { id status inputLine } } }')
  return data['generations'].nodes.find((one: Record<string, any>) => one['inputLine'].includes(text))
}

describe.skipIf(!hasPeers).concurrent.each(frameworks)('%s', (name, open, givenUp) => {
  test('text, and a call that runs here', async () => {
    const client = await open(door('plain'))
    expect(await client.ask(`say hello ${name}`)).toBe(`hello ${name}`)
    expect(await client.ask(acting(`runs ${name}`))).toBe('went on')
    expect(acted(`runs ${name}`)).toBe(1)
  })

  test('a stream comes in pieces, and one that is broken off leaves its run, which goes on', async () => {
    const client = await open(door('plain'))
    const pieces: string[] = []
    for await (const piece of client.stream(`slow 300ms\nsay one two ${name}`)) pieces.push(piece)
    expect(pieces.filter(Boolean).length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe(`one two ${name}`)
    for await (const piece of client.stream(`say left ${name} in the middle\nslow 30ms`)) if (piece) break
    const { id } = await runOf(`say left ${name} in`)
    expect(await h.until(id, ['COMPLETED'])).toMatchObject({ output: { text: `left ${name} in the middle` } })
  })

  test('a tool of the program runs there, once for each call', async () => {
    const client = await open(door('plain'))
    const rooms: string[] = []
    const locate: Locate = (room) => `found ${rooms.push(room)}`
    const calls = `call locate {"room": "a"}\ncall locate {"room": "b"}\nthen\ncall locate {"room": "c"}`
    expect(await client.ask(`${calls}\nthen\nsay found ${name}`, locate)).toBe(`found ${name}`)
    expect(rooms.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['approves', { verdict: 'APPROVE' }, [1, 0]],
    ['rejects', { verdict: 'REJECT', reason: 'No.' }, [0, 0]],
    ['edits', { verdict: 'APPROVE', arguments: { word: `better edits ${name}` } }, [0, 1]],
  ])('a gate holds the request until a person %s', async (what, verdict, ran) => {
    const word = `${what} ${name}`
    const client = await open(door('gated'))
    const [answer] = await Promise.all([client.ask(acting(word)), decide(word, verdict)])
    expect(answer).toBe('went on')
    expect([acted(word), acted(`better ${word}`)]).toEqual(ran)
  })

  test('a person who takes longer than it waits: the same request goes on, and nothing runs twice', async () => {
    const word = `late ${name}`
    const hasty = await open(door('gated', { timeout: 1500, maxRetries: 1 }))
    const first = await hasty.ask(acting(word)).catch((error: Error) => error)
    if (givenUp === 'words') expect(first).toMatch(/^This waits for an approval:.*\/approvals\/apr_/s)
    else if (givenUp === 'an error') expect(String(first)).toMatch(/timed out|timeout|aborted/i)
    else expect(first).toBe('')
    const client = await open(door('gated'))
    const [answer] = await Promise.all([client.ask(acting(word)), decide(word, { verdict: 'APPROVE' })])
    expect(answer).toBe('went on')
    expect([acted(word), (await questions(word)).length]).toEqual([1, 1])
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
