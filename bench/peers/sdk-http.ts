/** The SDK's handlers over node:http. */
import type { RequestListener } from 'node:http'
import type { createMcpHandler } from '@modelcontextprotocol/server'

/** Serves each path with the handler that `handlerOf` gives it. */
export function serveMcp(handlerOf: (path: string) => ReturnType<typeof createMcpHandler>): RequestListener {
  return async (incoming, outgoing) => {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const headers = new Headers(incoming.headers as Record<string, string>)
    const request = new Request(`http://127.0.0.1${incoming.url!}`, { method: incoming.method!, headers })
    const options = text ? { parsedBody: JSON.parse(text) as unknown } : {}
    const answer = await handlerOf(incoming.url!).fetch(request, options)
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers))
    outgoing.end(Buffer.from(await answer.arrayBuffer()))
  }
}
