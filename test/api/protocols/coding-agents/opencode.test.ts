/** opencode, whose model is an agent here: text, tools on both sides, gates, its own time limit, stops, and a wrong key. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codingAgent } from '../../../support/peers.ts'
import { freePort } from '../../../support/processes.ts'
import { acting, useProgramAgents, type ProgramAgents } from '../../../support/program-agents.ts'
import { makePlace, quietOpencode, startProgram, type Place, type Program } from './programs.ts'

const opencode = codingAgent('opencode')
let agents: ProgramAgents
useProgramAgents(opencode !== null, (parts) => (agents = parts))

/** The same door three times: with its defaults, with a short time limit, and with a wrong key. */
function configuration() {
  const provider = (options: object) => ({
    npm: '@ai-sdk/openai-compatible',
    name: 'Gatehouse',
    options: { baseURL: `${agents.h.url}/v1`, apiKey: '{env:GATEHOUSE_KEY}', ...options },
    models: { plain: {}, gated: {}, titles: {} },
  })
  return {
    enabled_providers: ['gatehouse', 'hasty', 'foreign'],
    provider: {
      gatehouse: provider({}),
      hasty: provider({ timeout: 3000 }),
      foreign: provider({ apiKey: 'gh_nobody' }),
    },
    model: 'gatehouse/plain',
    // It gets each first message too, for the title of its session: one without tools.
    small_model: 'gatehouse/titles',
  }
}

const password = randomBytes(16).toString('hex')

let place: Place
let program: Program
let url: string

async function start(): Promise<void> {
  const port = await freePort()
  program = startProgram(opencode!, ['serve', '--hostname', '127.0.0.1', '--port', String(port)], place)
  await program.prints('server listening on')
  url = `http://127.0.0.1:${port}`
}

beforeAll(async () => {
  if (!opencode) return
  await agents.fixtures.agent({ name: 'titles', toolIds: [] })
  place = await makePlace({
    ...quietOpencode,
    GATEHOUSE_KEY: agents.programKey,
    OPENCODE_SERVER_PASSWORD: password,
  })
  await writeFile(join(place.work, 'opencode.json'), JSON.stringify(configuration()))
  await start()
})
afterAll(async () => {
  await program?.kill()
  await place?.close()
})

async function request(path: string, body: object): Promise<any> {
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.json()
}

const openSession = async (): Promise<string> => (await request('/session', {})).id

/** The text of the answer, or the error. */
async function ask(session: string, model: string, prompt: string): Promise<string> {
  const [providerID, modelID] = model.split('/')
  const parts = [{ type: 'text', text: prompt }]
  const answer = await request(`/session/${session}/message`, { model: { providerID, modelID }, parts })
  if (answer.info.error) return `${answer.info.error.name}: ${answer.info.error.data.message}`
  return answer.parts.map(({ text = '' }) => text).join('')
}

describe.skipIf(!opencode)('opencode', () => {
  test('text, a call that runs here, and a command of its own, once', async () => {
    const session = await openSession()
    expect(await ask(session, 'gatehouse/plain', 'say hello opencode')).toBe('hello opencode')
    expect(await ask(session, 'gatehouse/plain', acting('runs opencode'))).toBe('went on')
    expect(agents.acted('runs opencode')).toBe(1)
    const command = { command: 'echo once >> ran.txt', description: 'Writes a line.' }
    const prompt = `call bash ${JSON.stringify(command)}\nthen\nsay ran`
    expect(await ask(session, 'gatehouse/plain', prompt)).toBe('ran')
    expect(await readFile(join(place.work, 'ran.txt'), 'utf8')).toBe('once\n')
  })

  test.each([
    ['approves', { verdict: 'APPROVE' }, [1, 0]],
    ['rejects', { verdict: 'REJECT', reason: 'No.' }, [0, 0]],
    ['edits', { verdict: 'APPROVE', arguments: { word: 'better edits opencode' } }, [0, 1]],
  ])('a gate holds it until a person %s', async (what, verdict, ran) => {
    const word = `${what} opencode`
    const session = await openSession()
    const [answer] = await Promise.all([
      ask(session, 'gatehouse/gated', acting(word)),
      agents.decide(word, verdict),
    ])
    expect(answer).toBe('went on')
    expect([agents.acted(word), agents.acted(`better ${word}`)]).toEqual(ran)
  })

  test('a person who takes longer than it waits: the same question in another session goes on, and nothing runs twice', async () => {
    const word = 'late opencode'
    expect(await ask(await openSession(), 'hasty/gated', acting(word))).toContain('timed out')
    await agents.decide(word, { verdict: 'APPROVE' })
    expect(await ask(await openSession(), 'hasty/gated', acting(word))).toBe('went on')
    expect([agents.acted(word), (await agents.questions(word)).length]).toEqual([1, 1])
  })

  test('a stop leaves the run, which waits on; the next message is answered after it, and the call runs once', async () => {
    const word = 'stopped opencode'
    const session = await openSession()
    const stopped = ask(session, 'gatehouse/gated', acting(word))
    const { generation } = await agents.asked(word)
    await request(`/session/${session}/abort`, {})
    expect(await stopped).toBe('MessageAbortedError: Aborted')
    const next = ask(session, 'gatehouse/gated', 'say next')
    await agents.decide(word, { verdict: 'APPROVE' })
    expect(await next).toMatch(/^went on\s+next$/)
    await agents.h.until(generation.id, ['COMPLETED'])
    expect([agents.acted(word), (await agents.questions(word)).length]).toEqual([1, 1])
  })

  test('a wrong key is an error that says so', async () => {
    expect(await ask(await openSession(), 'foreign/plain', 'say x')).toContain('A valid API key is required')
  })

  test('when it is killed at a gate, the run waits on and the call runs once; it asked no host but npm', async () => {
    const word = 'killed opencode'
    const left = ask(await openSession(), 'gatehouse/gated', acting(word)).catch(() => 'killed')
    const { generation } = await agents.asked(word)
    await program.kill()
    expect(await left).toBe('killed')
    await agents.decide(word, { verdict: 'APPROVE' })
    await agents.h.until(generation.id, ['COMPLETED'])
    expect([agents.acted(word), (await agents.questions(word)).length]).toEqual([1, 1])
    // For the types of its plug-ins, without which it goes on.
    expect(place.sought.filter((host) => host !== 'registry.npmjs.org:443')).toEqual([])
  })
})
