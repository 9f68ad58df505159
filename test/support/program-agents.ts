/** Two agents for programs that know them as models, and a person who decides. */
import { afterAll, beforeAll, vi } from 'vitest'
import { makeFixtures, type Fixtures } from './fixtures.ts'
import { openHarness, type Harness } from './harness.ts'

/** A question of the gate about a call of `act`. */
export interface Question {
  id: string
  generation: { id: string }
}

export interface ProgramAgents {
  h: Harness
  fixtures: Fixtures
  /** Of a program, which may not decide. */
  programKey: string
  /** How often `act` ran with this word. */
  acted(word: string): number
  /** The questions about this word, those that were answered too. */
  questions(word: string): Promise<Question[]>
  /** The question about this word, as soon as it is asked. */
  asked(word: string): Promise<Question>
  /** Decides as soon as the question about this word is asked. */
  decide(word: string, verdict: object): Promise<void>
  /** The run with this text in the first line of its input. */
  runOf(text: string): Promise<{ id: string; status: string }>
}

/** What lets the rehearsal model call `act` with this word, and then say `went on`. */
export const acting = (word: string) => `call act {"word": "${word}"}\nthen\nsay went on`

/**
 * Opens a server with the agents `plain`, and `gated` whose tool needs a person, before the tests of this file, and closes it
 * after them; nothing where the clients are not installed. Clients print the errors that such tests are about: nothing is printed.
 */
export function useProgramAgents(isInstalled: boolean, opened: (parts: ProgramAgents) => void): void {
  let parts: ProgramAgents | undefined
  beforeAll(async () => {
    if (!isInstalled) return
    for (const method of ['error', 'warn', 'log'] as const)
      vi.spyOn(console, method).mockImplementation(() => undefined)
    const h = await openHarness()
    const fixtures = await makeFixtures(h)
    await fixtures.agent({ name: 'plain' })
    await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' }, toolIds: [fixtures.tools.act] })
    const made = await h.mutate('createApiKey', { name: 'program', role: 'CALLER' }, 'secret')
    opened((parts = partsOf(h, fixtures, made['secret'])))
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    await parts?.fixtures.close()
    await parts?.h.stop()
  })
}

function partsOf(h: Harness, fixtures: Fixtures, programKey: string): ProgramAgents {
  const questions = async (word: string): Promise<Question[]> => {
    const fields = 'id originalArguments arguments generation { id }'
    const { data } = await h.gql(`{ approvals(first: 100) { nodes { ${fields} } } }`)
    return data['approvals'].nodes.filter((one: Record<string, any>) =>
      [one['originalArguments'], one['arguments']].some((args) => args?.word === word),
    )
  }
  const asked = (word: string) =>
    vi.waitFor(
      async () => {
        const [question] = await questions(word)
        if (!question) throw new Error(`Nothing is asked about ${word}.`)
        return question
      },
      { timeout: 90_000, interval: 20 },
    )
  return {
    h,
    fixtures,
    programKey,
    questions,
    asked,
    acted: (word) => fixtures.upstream.seen.filter(({ body }) => body.includes(`"${word}"`)).length,
    async decide(word, verdict) {
      const { id } = await asked(word)
      await h.mutate('decideApproval', { approvalId: id, ...verdict }, '__typename')
    },
    async runOf(text) {
      const { data } = await h.gql('{ generations(first: 100) { nodes { id status inputLine } } }')
      return data['generations'].nodes.find((one: Record<string, any>) => one['inputLine'].includes(text))
    },
  }
}
