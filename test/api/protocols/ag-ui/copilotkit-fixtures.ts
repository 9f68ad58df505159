/** A server, agents and pages of CopilotKit for its tests. */
import { afterAll, beforeAll, vi } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { describeWithPeers } from '../../../support/peers.ts'
import { makeFixtures, type Fixtures } from '../../../support/fixtures.ts'
import { openPage, said, type CopilotPage } from './clients.ts'

/** Without the client there is nothing to judge by. */
export const judged = describeWithPeers

export interface CopilotFixtures {
  h: Harness
  fixtures: Fixtures
  /** Ids of the agents `plain` and `gated`. */
  plain: string
  gated: string
  open(agent: string, threadId?: string): Promise<CopilotPage>
  ask(page: CopilotPage, content: string): Promise<void>
  /** The same thread in a browser that was opened anew. */
  openAgain(agent: string, page: CopilotPage): Promise<CopilotPage>
  /** How often the upstream was asked for a word. */
  hits(word: string): number
  runsOf(page: CopilotPage, agentId: string): Promise<any[]>
}

/** For one file of tests; its fields are set before the first of them. */
export function copilotFixtures(): CopilotFixtures {
  let count = 0
  const copilot: Partial<CopilotFixtures> & Omit<CopilotFixtures, 'h' | 'fixtures' | 'plain' | 'gated'> = {
    open: (agent, threadId = `copilot ${++count}`) => openPage(copilot.h!.url, adminKey, agent, threadId),
    async ask(page, content) {
      page.agent.addMessage(said(content))
      await page.core.runAgent({ agent: page.agent })
    },
    async openAgain(agent, page) {
      const again = await copilot.open(agent, page.agent.threadId)
      await again.core.connectAgent({ agent: again.agent })
      return again
    },
    hits: (word) => copilot.fixtures!.upstream.seen.filter(({ url }) => url.includes(word)).length,
    async runsOf({ agent }, agentId) {
      const { data, errors } = await copilot.h!.gql(
        `query($a: ID!, $e: String) { threads(agentId: $a, externalId: $e, first: 1) { nodes {
          generations(first: 5) { nodes { id status toolCalls { name status } } } } } }`,
        { a: agentId, e: agent.threadId },
      )
      if (errors) throw new Error(errors[0]!.message)
      return data['threads'].nodes[0]?.generations.nodes ?? []
    },
  }
  beforeAll(async () => {
    // The client prints the errors that these tests are about.
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    copilot.h = await openHarness()
    copilot.fixtures = await makeFixtures(copilot.h)
    copilot.plain = await copilot.fixtures.agent({ name: 'plain' })
    copilot.gated = await copilot.fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    await copilot.fixtures?.close()
    await copilot.h?.stop()
  })
  return copilot as CopilotFixtures
}

/** A JSON Schema as the client takes it. */
export const parameters = {
  '~standard': {
    vendor: 'test',
    version: 1,
    validate: (value: unknown) => ({ value }),
    jsonSchema: {
      input: () => ({ type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }),
    },
  },
}

/** A tool of the page, and the arguments with which it was executed. */
export function pageTool({ core }: CopilotPage, name: string, more: object = {}): object[] {
  const executed: object[] = []
  const handler = async (args: object) => {
    executed.push(args)
    return { found: 'kitchen' }
  }
  core.addTool({ name, description: 'Of the page.', parameters, handler, ...more })
  return executed
}
