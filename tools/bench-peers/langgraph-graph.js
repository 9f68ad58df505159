/** A model and one tool that waits for somebody outside, as LangGraph's documentation writes it. */
import { ToolMessage } from '@langchain/core/messages'
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const ask = { name: 'ask', description: 'Asks somebody.', schema: z.object({ word: z.string() }) }
const model = new ChatOpenAI({ model: 'bench', apiKey: 'none' }).bindTools([ask])

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('ask', ({ messages }) => {
    const call = messages.at(-1).tool_calls[0]
    return { messages: [new ToolMessage({ tool_call_id: call.id, content: interrupt(call.args) })] }
  })
  .addEdge(START, 'model')
  .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'ask' : END))
  .addEdge('ask', 'model')
