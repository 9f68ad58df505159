/**
 * Frameworks that programs are written with, behind one interface: each with the settings that it has by itself, a base URL, a key and
 * the name of an agent.
 */
import { importPeer } from '../../../support/peers.ts'

/** Where a framework finds its model. */
export interface Door {
  url: string
  key: string
  agent: string
  /** Its own time limit of a request in milliseconds, and how often it asks again; what it has by itself without them. */
  timeout?: number
  maxRetries?: number
}

/** A tool of the program, `locate({ room })`. */
export type Locate = (room: string) => string

export interface Asking {
  locate?: Locate
  /** Ends the request, where the framework takes one. */
  signal?: AbortSignal
}

export interface Framework {
  /** The text of the answer; the framework runs the tool. */
  ask(prompt: string, more?: Asking): Promise<string>
  /** The same, piece by piece. */
  stream(prompt: string, more?: Asking): AsyncIterable<string>
}

export type OpenFramework = (door: Door) => Promise<Framework>

/** What `importPeer` gives: these packages are not installed where types are checked. */
type Loose = Record<string, any>

const { z } = await import('zod')
const parameters = z.object({ room: z.string() })
const about = { name: 'locate', description: 'Finds the user.' }
const limits = ({ timeout, maxRetries }: Door) => ({
  ...(timeout === undefined ? {} : { timeout }),
  ...(maxRetries === undefined ? {} : { maxRetries }),
})

/** `useResponses`: by default. */
function openAgents(useResponses?: boolean): OpenFramework {
  return async (door) => {
    const { Agent, Runner, tool } = await importPeer<Loose>('@openai/agents')
    const runner = new Runner({ modelProvider: await agentsProvider(door, useResponses) })
    const agentWith = (locate?: Locate) =>
      new Agent({
        name: 'assistant',
        model: door.agent,
        tools: locate
          ? [tool({ ...about, parameters, execute: ({ room }: { room: string }) => locate(room) })]
          : [],
      })
    return {
      ask: async (prompt, { locate, signal } = {}) =>
        (await runner.run(agentWith(locate), prompt, { signal })).finalOutput,
      async *stream(prompt, { locate, signal } = {}) {
        const result = await runner.run(agentWith(locate), prompt, { stream: true, signal })
        yield* result.toTextStream()
        await result.completed
      },
    }
  }
}

/** The provider of models of @openai/agents. */
export async function agentsProvider(door: Door, useResponses?: boolean): Promise<object> {
  const { OpenAIProvider } = await importPeer<Loose>('@openai/agents')
  const { OpenAI } = await importPeer<Loose>('openai7')
  return new OpenAIProvider({
    openAIClient: new OpenAI({ apiKey: door.key, baseURL: `${door.url}/v1`, ...limits(door) }),
    ...(useResponses === undefined ? {} : { useResponses }),
  })
}

/** The model of @langchain/openai. */
export async function chatOpenAI(door: Door, useResponsesApi?: boolean): Promise<any> {
  const { ChatOpenAI } = await importPeer<Loose>('@langchain/openai')
  return new ChatOpenAI({
    model: door.agent,
    apiKey: door.key,
    configuration: { baseURL: `${door.url}/v1` },
    ...limits(door),
    ...(useResponsesApi === undefined ? {} : { useResponsesApi }),
  })
}

function langChain(useResponsesApi?: boolean): OpenFramework {
  return async (door) => {
    const { tool } = await importPeer<Loose>('@langchain/core/tools')
    const { HumanMessage } = await importPeer<Loose>('@langchain/core/messages')
    const plain = await chatOpenAI(door, useResponsesApi)
    const withTool = (locate?: Locate) => {
      const own = locate
        ? [tool(({ room }: { room: string }) => locate(room), { ...about, schema: parameters })]
        : []
      return { own, model: locate ? plain.bindTools(own) : plain }
    }
    return {
      async ask(prompt, { locate, signal } = {}) {
        const { own, model } = withTool(locate)
        const messages: Loose[] = [new HumanMessage(prompt)]
        for (;;) {
          const answer = await model.invoke(messages, { signal })
          if (answer.tool_calls.length === 0) return answer.text
          messages.push(answer)
          for (const call of answer.tool_calls) messages.push(await own[0]!.invoke(call))
        }
      },
      async *stream(prompt, { signal } = {}) {
        for await (const piece of await plain.stream(prompt, { signal })) yield piece.text
      },
    }
  }
}

/** For those whose time limit is a signal. */
const aborted = ({ timeout }: Door, signal?: AbortSignal) => {
  const abortSignal = timeout === undefined ? signal : AbortSignal.timeout(timeout)
  return abortSignal ? { abortSignal } : {}
}

function mastra(api?: 'responses'): OpenFramework {
  return async (door) => {
    const { Agent } = await importPeer<Loose>('@mastra/core/agent')
    const { createTool } = await importPeer<Loose>('@mastra/core/tools')
    const agentWith = (locate?: Locate) =>
      new Agent({
        id: 'assistant',
        name: 'assistant',
        instructions: 'Help.',
        model: {
          id: `gatehouse/${door.agent}`,
          url: `${door.url}/v1`,
          apiKey: door.key,
          ...(api ? { api } : {}),
        },
        ...(door.maxRetries === undefined ? {} : { maxRetries: door.maxRetries }),
        tools: locate
          ? {
              locate: createTool({
                id: about.name,
                description: about.description,
                inputSchema: parameters,
                execute: async ({ room }: { room: string }) => ({ found: locate(room) }),
              }),
            }
          : {},
      })
    return {
      ask: async (prompt, { locate, signal } = {}) =>
        (await agentWith(locate).generate(prompt, aborted(door, signal))).text,
      async *stream(prompt, { locate, signal } = {}) {
        const { textStream } = await agentWith(locate).stream(prompt, aborted(door, signal))
        yield* textStream
      },
    }
  }
}

/** The AI SDK of this major, with the provider for OpenAI that goes with it. */
export function aiSdk(major: 5 | 7, provider: 2 | 4, mode: 'responses' | 'chat'): OpenFramework {
  return async (door) => {
    const { generateText, streamText, stepCountIs, isStepCount, tool } = await importPeer<Loose>(`ai${major}`)
    const { createOpenAI } = await importPeer<Loose>(`ai-sdk-openai${provider}`)
    const model = createOpenAI({ baseURL: `${door.url}/v1`, apiKey: door.key })[mode](door.agent)
    const asking = (prompt: string, { locate, signal }: Asking = {}) => ({
      model,
      prompt,
      stopWhen: (stepCountIs ?? isStepCount)(5),
      ...(door.maxRetries === undefined ? {} : { maxRetries: door.maxRetries }),
      ...aborted(door, signal),
      ...(locate
        ? {
            tools: {
              locate: tool({
                description: about.description,
                inputSchema: parameters,
                execute: async ({ room }: { room: string }) => locate(room),
              }),
            },
          }
        : {}),
    })
    return {
      ask: async (prompt, more) => (await generateText(asking(prompt, more))).text,
      stream: (prompt, more) => streamText(asking(prompt, more)).textStream,
    }
  }
}

function llamaIndex(name: 'openai' | 'openaiResponses'): OpenFramework {
  return async (door) => {
    const module = await importPeer<Loose>('@llamaindex/openai')
    const { tool } = await importPeer<Loose>('@llamaindex/core/tools')
    const model = module[name]({
      model: door.agent,
      apiKey: door.key,
      baseURL: `${door.url}/v1`,
      ...limits(door),
    })
    const user = (content: string): Loose[] => [{ role: 'user', content }]
    const contentText = (content: string | { text: string }[]) =>
      typeof content === 'string' ? content : content.map(({ text }) => text).join('')
    return {
      async ask(prompt, { locate } = {}) {
        const run = ({ room }: { room: string }) => locate!(room)
        const tools = locate ? [tool({ ...about, parameters, execute: run })] : []
        const messages = user(prompt)
        for (;;) {
          const { newMessages, toolCalls } = await model.exec({ messages, tools })
          messages.push(...newMessages)
          if (toolCalls.length === 0) return contentText(newMessages[0].content)
        }
      },
      async *stream(prompt) {
        // In its mode for responses it gives the last piece again with every event that follows, also with OpenAI.
        for await (const { delta, raw } of await model.chat({ messages: user(prompt), stream: true }))
          if (raw.type === undefined || raw.type === 'response.output_text.delta') yield delta
      },
    }
  }
}

/** How a request ends that a person keeps longer than the framework waits. */
type GivenUp =
  /** With an error after its last try. */
  | 'an error'
  /** In words with the link, before the second try is given up. */
  | 'words'
  /** Without an answer: it has no time limit, but takes a signal. */
  | 'nothing'

export const frameworks: [name: string, open: OpenFramework, givenUp: GivenUp][] = [
  ['@openai/agents', openAgents(), 'an error'],
  ['@openai/agents, chat completions', openAgents(false), 'words'],
  ['@langchain/openai', langChain(), 'an error'],
  ['@langchain/openai, responses', langChain(true), 'an error'],
  ['@mastra/core', mastra(), 'nothing'],
  ['@mastra/core, responses', mastra('responses'), 'nothing'],
  ['ai 5 with @ai-sdk/openai 2, chat', aiSdk(5, 2, 'chat'), 'an error'],
  ['ai 7 with @ai-sdk/openai 4, responses', aiSdk(7, 4, 'responses'), 'an error'],
  ['ai 7 with @ai-sdk/openai 4, chat', aiSdk(7, 4, 'chat'), 'an error'],
  ['@llamaindex/openai', llamaIndex('openai'), 'words'],
  ['@llamaindex/openai, responses', llamaIndex('openaiResponses'), 'an error'],
]
