/**
 * A model over the chat completions of compatible servers, streamed or whole as it is asked: it calls the tool `ask`, and
 * when it has the output it says done. It remembers nothing.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { framesOf } from '../../test/support/wire-frames.ts'
import { serveAsPeer } from '../peer.ts'

const call = { name: 'ask', arguments: '{"word":"x"}' }

function completion(finished: boolean): object {
  const message = finished
    ? { content: 'done' }
    : { content: null, tool_calls: [{ id: `call_${randomUUID()}`, type: 'function', function: call }] }
  const finish_reason = finished ? 'stop' : 'tool_calls'
  return {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion',
    created: 1_780_000_000,
    model: 'local',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }
}

serveAsPeer(
  createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const asked = JSON.parse(text) as { stream?: boolean; messages: { role: string }[] }
    const finished = asked.messages.at(-1)?.role === 'tool'
    response.setHeader('content-type', asked.stream ? 'text/event-stream' : 'application/json')
    const frames = asked.stream
      ? framesOf('compatible', finished ? { text: 'done' } : { calls: [call] })
      : [JSON.stringify(completion(finished))]
    for (const frame of frames) response.write(frame)
    response.end()
  }),
)
