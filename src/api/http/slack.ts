/** The URL to which Slack sends presses of buttons and submitted modals. */
import type { AppError } from '../../core/errors.ts'
import type { Services } from '../../domain/access/index.ts'
import { serveInteraction, type SlackReply } from '../../domain/followers/index.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type RouteGroup } from './route.ts'

const maxBytes = 256 * 1024
/** Slack shows an error to the person after three seconds; the vote goes on, and its message is updated by the worker. */
const answerMs = 2500

export function makeSlack(services: Services): RouteGroup {
  const errorBody = ({ message }: AppError) => ({ error: message })
  return openRoutes(services.log, {
    routes: [{ method: 'POST', path: '/slack/interactions', run: (call) => interact(services, call) }],
    errorBody,
  })
}

async function interact(services: Services, { request, response, readBody }: OpenCall): Promise<void> {
  // Byte for byte: the signature is over it.
  const body = await readBody('slack', maxBytes)
  if (!body) return
  const { headers } = request
  const serving = serveInteraction(services, {
    timestamp: String(headers['x-slack-request-timestamp'] ?? ''),
    signature: String(headers['x-slack-signature'] ?? ''),
    body: body.toString('utf8'),
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
}

async function inTime(serving: Promise<SlackReply | 'failed'>): Promise<SlackReply | 'failed' | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), answerMs)
  })
  return Promise.race([serving, late]).finally(() => clearTimeout(timer))
}
