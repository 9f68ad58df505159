/** Codex, whose model is an agent here: text, tools on both sides, gates, its own time limit, an end in the middle, and a wrong key. */
import { readFile, writeFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codingAgent } from '../../../support/peers.ts'
import { acting, useProgramAgents, type ProgramAgents } from '../../../support/program-agents.ts'
import { codexSettings, makePlace, startProgram, type Place, type Program } from './programs.ts'

const codex = codingAgent('codex')
let agents: ProgramAgents
useProgramAgents(codex !== null, (parts) => (agents = parts))

interface Codex {
  place: Place
  start(agent: string, prompt: string, command?: string[]): Program
  /** The last text of the answer, or the errors. */
  ask(agent: string, prompt: string): Promise<string>
}

/** What it tells, a JSON object a line. */
function eventsOf(program: Program): Record<string, any>[] {
  const lines = program.printed().split('\n')
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
}

async function answerOf(program: Program): Promise<string> {
  await program.ended
  const events = eventsOf(program)
  const failed = events.find(({ type }) => type === 'turn.failed')
  if (failed) return `Error: ${failed['error'].message}`
  return events.findLast(({ item }) => item?.type === 'agent_message')?.['item'].text
}

/** Codex in a place of its own; it asked no other host when the work is done. */
async function using(
  work: (codex: Codex) => Promise<void>,
  { more = '', key = agents.programKey } = {},
): Promise<void> {
  const place = await makePlace({ GATEHOUSE_KEY: key })
  await mkdir(join(place.home, '.codex'))
  await writeFile(
    join(place.home, '.codex/config.toml'),
    codexSettings(agents.h.url, `env_key = "GATEHOUSE_KEY"\n${more}`),
  )
  const started: Program[] = []
  const start: Codex['start'] = (agent, prompt, command = ['exec', '-s', 'danger-full-access']) => {
    const program = startProgram(
      codex!,
      [...command, '--skip-git-repo-check', '--json', '-m', agent, prompt],
      place,
    )
    started.push(program)
    return program
  }
  try {
    await work({ place, start, ask: (agent, prompt) => answerOf(start(agent, prompt)) })
    expect(place.sought).toEqual([])
  } finally {
    await Promise.all(started.map((program) => program.kill()))
    await place.close()
  }
}

describe.skipIf(!codex).concurrent('Codex', () => {
  test('text, a call that runs here, and a command of its own, once', () =>
    using(async ({ ask, place }) => {
      expect(await ask('plain', 'say hello codex')).toBe('hello codex')
      expect(await ask('plain', acting('runs codex'))).toBe('went on')
      expect(agents.acted('runs codex')).toBe(1)
      const command = { cmd: 'echo once >> ran.txt' }
      expect(await ask('plain', `call exec_command ${JSON.stringify(command)}\nthen\nsay ran`)).toBe('ran')
      expect(await readFile(join(place.work, 'ran.txt'), 'utf8')).toBe('once\n')
    }))

  test.each([
    ['approves', { verdict: 'APPROVE' }, [1, 0]],
    ['rejects', { verdict: 'REJECT', reason: 'No.' }, [0, 0]],
    ['edits', { verdict: 'APPROVE', arguments: { word: 'better edits codex' } }, [0, 1]],
  ])('a gate holds it until a person %s', (what, verdict, ran) =>
    using(async ({ ask }) => {
      const word = `${what} codex`
      const [answer] = await Promise.all([ask('gated', acting(word)), agents.decide(word, verdict)])
      expect(answer).toBe('went on')
      expect([agents.acted(word), agents.acted(`better ${word}`)]).toEqual(ran)
    }),
  )

  test('a person who takes longer than it waits: it asks again by itself, and nothing runs twice', () =>
    using(
      async ({ start }) => {
        const program = start('gated', acting('late codex'))
        await program.prints('idle timeout', 2)
        await agents.decide('late codex', { verdict: 'APPROVE' })
        expect(await answerOf(program)).toBe('went on')
        expect([agents.acted('late codex'), (await agents.questions('late codex')).length]).toEqual([1, 1])
      },
      { more: 'stream_idle_timeout_ms = 1500' },
    ))

  test('when it is killed at a gate, the run waits on, the next turn is answered, and the call runs once', () =>
    using(async ({ start }) => {
      const program = start('gated', acting('killed codex'))
      const { generation } = await agents.asked('killed codex')
      await program.kill()
      const next = start('gated', 'say next', ['exec', 'resume', '--last'])
      expect(await answerOf(next)).toBe('next')
      expect(await agents.h.until(generation.id, ['AWAITING_APPROVAL'])).toBeTruthy()
      await agents.decide('killed codex', { verdict: 'APPROVE' })
      await agents.h.until(generation.id, ['COMPLETED'])
      expect([agents.acted('killed codex'), (await agents.questions('killed codex')).length]).toEqual([1, 1])
    }))

  test('a wrong key is an error that says so, as is an agent that does not exist', async () => {
    const once = 'request_max_retries = 0\nstream_max_retries = 0'
    const wrong = 'A valid API key is required: send it as "Authorization: Bearer gh_…".'
    await using(async ({ ask }) => expect(await ask('plain', 'say x')).toContain(wrong), {
      key: 'gh_nobody',
      more: once,
    })
    await using(async ({ ask }) => expect(await ask('nobody', 'say x')).toContain('No agent with the id'), {
      more: once,
    })
  })
})
