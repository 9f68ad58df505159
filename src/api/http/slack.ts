/** The URL to which Slack sends presses of buttons and submitted modals. */
import type { Services } from '../../domain/access/index.ts'
import { serveInteraction, type SlackReply } from '../../domain/slack/index.ts'
import { readBytes, sendJson } from './json.ts'
import type { FileRoutes } from './server.ts'

const path = '/slack/interactions'
const maxBytes = 256 * 1024
/** Slack shows an error to the person after three seconds; the vote goes on, and its message is updated by the worker. */
const answerMs = 2500

export function makeSlack(services: Services): FileRoutes {
  return {
    serves: (given) => given === path,
    async serve(request, response) {
      if (request.method !== 'POST')
        return sendJson(
          response,
          405,
          { error: 'Method not allowed.' },
          { allow: 'POST', connection: 'close' },
        )
      // Byte for byte: the signature is over it.
      const bytes = await readBytes(request, maxBytes)
      if (bytes === null)
        return sendJson(response, 413, { error: 'The body is too large.' }, { connection: 'close' })
      const { headers } = request
      const serving = serveInteraction(services, {
        timestamp: String(headers['x-slack-request-timestamp'] ?? ''),
        signature: String(headers['x-slack-signature'] ?? ''),
        body: bytes.toString('utf8'),
      }).catch((error: unknown): 'failed' => {
        services.log.error({ err: error }, 'an interaction of Slack failed')
        return 'failed'
      })
      const reply = await inTime(serving)
      if (reply === 'failed') return sendJson(response, 500, { error: 'Unexpected error.' })
      if (reply !== 'late' && reply.kind === 'denied')
        return sendJson(response, 401, {
          error: 'The request is not signed by Slack for this server, or was sent before.',
        })
      if (reply === 'late' || reply.body === null) return void response.writeHead(200).end()
      sendJson(response, 200, reply.body)
    },
  }
}

async function inTime(serving: Promise<SlackReply | 'failed'>): Promise<SlackReply | 'failed' | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), answerMs)
  })
  return Promise.race([serving, late]).finally(() => clearTimeout(timer))
}
