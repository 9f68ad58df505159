/**
 * The URLs to which others send signed messages: hooks, which start runs, and Slack, for presses of buttons and
 * submitted modals.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Services } from '../../domain/access/index.ts'
import { hookPath, receiveMessage } from '../../domain/triggers/index.ts'
import { sendJson } from './replies.ts'
import { openRoutes, type OpenCall, type RouteGroup } from './route.ts'
import type { AppError } from '../../core/errors.ts'
import { serveInteraction, type SlackReply } from '../../domain/followers/index.ts'

const maxBytes = 256 * 1024

export interface HookParts {
  services: Services
  addressOf(request: IncomingMessage): string | null
}

export function makeHooks(parts: HookParts): RouteGroup {
  return openRoutes(parts.services.log, {
    routes: [{ method: 'POST', path: `${hookPath}{triggerId}`, run: (call) => receive(parts, call) }],
    errorBody: ({ code, message }) => ({ error: message, code }),
  })
}

async function receive({ services, addressOf }: HookParts, call: OpenCall): Promise<void> {
  const { request, response, readBody, params } = call
  // Byte for byte: the signature is over it. All senders of hooks count as one, since none has shown a key yet: authenticated
  // requests keep their memory.
  const body = await readBody('hooks', maxBytes)
  if (!body) return
  const header = (name: string) => String(request.headers[`webhook-${name}`] ?? '')
  const generationId = await receiveMessage(services, {
    triggerId: params['triggerId']!,
    id: header('id'),
    timestamp: header('timestamp'),
    signature: header('signature'),
    body,
    remoteAddress: addressOf(request),
    requestId: randomUUID(),
  })
  sendJson(response, 202, { generationId })
}

/** Slack shows an error to the person after three seconds; the vote goes on, and its message is updated by the worker. */
const answerMs = 2500

/** The URL to which Slack sends presses of buttons and submitted modals. */
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
  const sent = {
    timestamp: String(headers['x-slack-request-timestamp'] ?? ''),
    signature: String(headers['x-slack-signature'] ?? ''),
    body: body.toString('utf8'),
  }
  const serving = serveInteraction(services, sent, () => response.headersSent).catch(
    (error: unknown): 'failed' => {
      services.log.error({ err: error }, 'an interaction of Slack failed')
      return 'failed'
    },
  )
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
