/** One subscription over server-sent events, as any HTTP client reads it. */
import type { JsonObject } from '../../src/core/json.ts'

/** Resolves when the server has taken the subscription: whatever happens from then on is heard. Call the result to end it. */
export async function openStream(
  url: string,
  key: string,
  query: string,
  hear: (result: JsonObject) => void,
): Promise<() => Promise<void>> {
  const stop = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
    },
    body: JSON.stringify({ query }),
    signal: stop.signal,
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const reading = readAll(response, hear).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  return async () => {
    stop.abort()
    await reading
  }
}

async function readAll(response: Response, hear: (result: JsonObject) => void): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    for (const block of blocks) {
      const data = /^data: (.+)$/m.exec(block)?.[1]
      if (data && !block.includes('event: complete')) hear(JSON.parse(data) as JsonObject)
    }
  }
}
