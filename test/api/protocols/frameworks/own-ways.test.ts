/** What single frameworks do in ways of their own: questions before a tool runs, on either side, and structured answers. */
import { describe, expect, test } from 'vitest'
import { objectSchema } from '../../../support/fixtures.ts'
import { adminKey } from '../../../support/harness.ts'
import { hasPeers, importPeer } from '../../../support/peers.ts'
import { acting, useProgramAgents, type ProgramAgents } from '../../../support/program-agents.ts'
import { agentsProvider, aiSdk, chatOpenAI } from './clients.ts'

let agents: ProgramAgents
useProgramAgents(hasPeers, (parts) => (agents = parts))

/** Of a key that decides, so that the program is asked. */
const door = (agent: string) => ({ url: agents.h.url, key: adminKey, agent })

describe.skipIf(!hasPeers)('@openai/agents', () => {
  const open = async (useResponses?: boolean) => {
    const { Agent, Runner, hostedMcpTool, tool } = await importPeer<any>('@openai/agents')
    const runner = new Runner({ modelProvider: await agentsProvider(door('plain'), useResponses) })
    return { Agent, hostedMcpTool, runner, tool }
  }

  test.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('its own question before its own tool: responses %s, approved %s', async (useResponses, approved) => {
    const { Agent, runner, tool } = await open(useResponses)
    const ran: string[] = []
    const locate = tool({
      name: 'locate',
      description: 'Finds the user.',
      parameters: objectSchema({ room: { type: 'string' } }, ['room']),
      needsApproval: true,
      execute: ({ room }: { room: string }) => `found ${ran.push(room)}`,
    })
    const agent = new Agent({ name: 'assistant', model: 'plain', tools: [locate] })
    const prompt = `call locate {"room": "${approved} ${useResponses}"}\nthen\nsay went on`
    const asked = await runner.run(agent, prompt)
    const [question] = asked.interruptions
    asked.state[approved ? 'approve' : 'reject'](question)
    expect((await runner.run(agent, asked.state)).finalOutput).toBe('went on')
    expect(ran).toEqual(approved ? [`true ${useResponses}`] : [])
  })

  test.each([true, false])('a question about a tool that runs here, approved %s', async (approved) => {
    const { Agent, runner, hostedMcpTool } = await open()
    const here = hostedMcpTool({ serverLabel: 'gatehouse', requireApproval: 'always' })
    const agent = new Agent({ name: 'assistant', model: 'gated', tools: [here] })
    const asked = await runner.run(agent, acting(`hosted ${approved}`), { stream: true })
    await asked.completed
    const [question] = asked.interruptions
    expect(question.rawItem).toMatchObject({ name: 'act', providerData: { server_label: 'gatehouse' } })
    asked.state[approved ? 'approve' : 'reject'](question)
    const done = await runner.run(agent, asked.state)
    expect([done.finalOutput, agents.acted(`hosted ${approved}`)]).toEqual(['went on', approved ? 1 : 0])
  })

  test('without that tool a key that decides gets an error, and the question stays', async () => {
    const { Agent, runner } = await open()
    const agent = new Agent({ name: 'assistant', model: 'gated' })
    const asked = runner.run(agent, acting('unseen'))
    await expect(asked).rejects.toThrow('MCP server (gatehouse) not found')
    const pending = await agents.h.gql(
      '{ approvals(filter: { statuses: [PENDING] }) { nodes { arguments } } }',
    )
    expect(pending.data['approvals'].nodes).toEqual([{ arguments: { word: 'unseen' } }])
  })

  test.each([true, false])('a structured answer: responses %s', async (useResponses) => {
    const { Agent, runner } = await open(useResponses)
    const { z } = await importPeer<any>('zod')
    const agent = new Agent({ name: 'assistant', model: 'plain', outputType: z.object({ n: z.number() }) })
    const { finalOutput } = await runner.run(agent, `json {"n": ${Number(useResponses)}}`)
    expect(finalOutput).toEqual({ n: Number(useResponses) })
  })
})

describe.skipIf(!hasPeers)('@langchain/openai', () => {
  test.each([true, false])('a structured answer: responses %s', async (useResponses) => {
    const { z } = await importPeer<any>('zod')
    const model = await chatOpenAI(door('plain'), useResponses)
    const answer = model.withStructuredOutput(z.object({ m: z.number() }), { name: 'answer' })
    expect(await answer.invoke(`json {"m": ${Number(useResponses)}}`)).toEqual({ m: Number(useResponses) })
  })

  test.each([true, false])(
    'responses: the question in the message is answered, approved %s',
    async (approve) => {
      const { HumanMessage } = await importPeer<any>('@langchain/core/messages')
      const model = await chatOpenAI(door('gated'), true)
      const { additional_kwargs, response_metadata } = await model.invoke(acting(`message ${approve}`))
      const [question] = additional_kwargs.tool_outputs
      expect(question).toMatchObject({ type: 'mcp_approval_request', name: 'act' })
      const verdict = { type: 'mcp_approval_response', approval_request_id: question.id, approve }
      const done = await model.invoke([new HumanMessage({ content: [verdict] })], {
        previous_response_id: response_metadata.id,
      })
      expect([done.text, agents.acted(`message ${approve}`)]).toEqual(['went on', approve ? 1 : 0])
    },
  )
})

describe.skipIf(!hasPeers)('ai 5', () => {
  test('responses: text is read, and a response with a call that runs here is not', async () => {
    const client = await aiSdk(5, 2, 'responses')(door('plain'))
    expect(await client.ask('say hello five')).toBe('hello five')
    await expect(client.ask(acting('five'))).rejects.toThrow('Invalid JSON response')
  })
})
