/** An upstream in a thread of its own, so that the times of its requests do not depend on the work of the test's thread. */
import { Worker } from 'node:worker_threads'

export interface TimedUpstream {
  url: string
  /** Each request as it arrived: when, by the wall clock, its body and its Idempotency-Key. */
  seen: { at: number; body: string; key: string }[]
  close(): Promise<void>
}

const program = `
  const { createServer } = require('node:http')
  const { parentPort } = require('node:worker_threads')
  const server = createServer((request, response) => {
    const at = Date.now()
    let body = ''
    request.on('data', (chunk) => { body += chunk })
    request.on('end', () => {
      parentPort.postMessage({ at, body, key: request.headers['idempotency-key'] ?? '' })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }))
`

/** Starts it on a free port of loopback. It answers every request at once. */
export async function startTimedUpstream(): Promise<TimedUpstream> {
  const worker = new Worker(program, { eval: true })
  const seen: TimedUpstream['seen'] = []
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('error', reject)
    worker.on('message', (message: { port: number } | TimedUpstream['seen'][number]) => {
      if ('port' in message) resolve(message.port)
      else seen.push(message)
    })
  })
  return { url: `http://127.0.0.1:${port}`, seen, close: async () => void (await worker.terminate()) }
}
