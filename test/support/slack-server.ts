/** Slack's Web API on loopback, as strict as the documented one: tokens, arguments and the limits of blocks. */
import type { ServerResponse } from 'node:http'
import { signatureOf } from '../../src/domain/followers/slack/interactions.ts'
import { startLoopback, type Loopback } from './loopback.ts'

export const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
export const botToken = 'xoxb-1234-5678-abcdefgh'
export const channel = 'C0123456789'
export const team = { id: 'T0001', domain: 'example' }

type Shown = Record<string, any>

export interface SlackServer {
  url: string
  /** Messages in the channel by their time stamps, as they are now. */
  messages: Map<string, Shown>
  /** How often each message was posted or updated, in order. */
  calls: { method: string; args: Shown }[]
  ephemeral: { user: string; text: string }[]
  views: Shown[]
  /** Requests that Slack would not accept, with the reason. */
  faults: string[]
  tokens: Set<string>
  /** Answers a call otherwise; true: it has answered. */
  interfere: ((method: string, args: Shown, response: ServerResponse) => boolean) | null
  /** Resolves when `enough` is true of what was received. */
  until(enough: () => boolean): Promise<void>
  close(): Promise<void>
}

export async function openSlackServer(): Promise<SlackServer> {
  let waiters: (() => void)[] = []
  let stamp = 1_700_000_000
  const loopback: Loopback = await startLoopback((request, response) => {
    const method = request.url.slice(1)
    const reply = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const refuse = (error: string) => {
      server.faults.push(`${method}: ${error}`)
      reply({ ok: false, error })
    }
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (request.method !== 'POST') return refuse('unknown_method')
    if (!/^application\/json; charset=utf-8$/.test(request.headers['content-type'] ?? ''))
      return refuse('invalid_post_type')
    const args = JSON.parse(request.body) as Shown
    server.calls.push({ method, args })
    try {
      if (server.interfere?.(method, args, response)) return
      if (!token) return reply({ ok: false, error: 'not_authed' })
      if (!server.tokens.has(token)) return reply({ ok: false, error: 'token_revoked' })
      const handler = handlers[method]
      if (!handler) return refuse('unknown_method')
      handler(args, reply, refuse)
    } finally {
      for (const waiter of waiters) waiter()
    }
  })
  const server: SlackServer = {
    url: loopback.url,
    messages: new Map(),
    calls: [],
    ephemeral: [],
    views: [],
    faults: [],
    tokens: new Set([botToken]),
    interfere: null,
    until: (enough) =>
      new Promise((resolve) => {
        const look = () => {
          if (!enough()) return
          waiters = waiters.filter((one) => one !== look)
          resolve()
        }
        waiters.push(look)
        look()
      }),
    close: () => loopback.close(),
  }
  type Handler = (args: Shown, reply: (body: object) => void, refuse: (error: string) => void) => void
  const handlers: Record<string, Handler> = {
    'auth.test': (_args, reply) =>
      reply({ ok: true, team_id: team.id, team: 'Example', user_id: 'U0BOT', bot_id: 'B1' }),
    'chat.postMessage': (args, reply, refuse) => {
      if (args['channel'] !== channel) return refuse('channel_not_found')
      const fault = faultOfBlocks(args['blocks'])
      if (fault) return refuse(fault)
      if (typeof args['text'] !== 'string' || args['text'].length > 4000) return refuse('msg_too_long')
      const ts = `${++stamp}.000100`
      server.messages.set(ts, args)
      reply({ ok: true, channel, ts })
    },
    'chat.update': (args, reply, refuse) => {
      if (!server.messages.has(args['ts'])) return refuse('message_not_found')
      const fault = faultOfBlocks(args['blocks'])
      if (fault) return refuse(fault)
      server.messages.set(args['ts'], args)
      reply({ ok: true, channel, ts: args['ts'], text: args['text'] })
    },
    'chat.postEphemeral': (args, reply, refuse) => {
      if (args['channel'] !== channel || !args['user'] || !args['text']) return refuse('invalid_arguments')
      server.ephemeral.push({ user: args['user'], text: args['text'] })
      reply({ ok: true, message_ts: `${++stamp}.000100` })
    },
    'views.open': (args, reply, refuse) => {
      if (!args['trigger_id']) return refuse('invalid_trigger_id')
      const { view } = args
      const words = [view.title, view.submit, view.close]
      if (
        view.type !== 'modal' ||
        words.some(({ text }) => text.length > 24) ||
        view.private_metadata.length > 3000
      )
        return refuse('invalid_arguments')
      const fault = faultOfBlocks(view.blocks)
      if (fault) return refuse(fault)
      server.views.push(view)
      reply({ ok: true, view: { id: `V${server.views.length}` } })
    },
  }
  return server
}

/** The documented limits of the blocks that are used; null: none is broken. */
function faultOfBlocks(blocks: Shown[]): string | null {
  if (!Array.isArray(blocks) || blocks.length > 50) return 'invalid_blocks'
  const bad = (text: Shown | undefined, most: number) =>
    !text ||
    !['plain_text', 'mrkdwn'].includes(text['type']) ||
    text['text'].length < 1 ||
    text['text'].length > most
  for (const block of blocks) {
    const known = ['header', 'section', 'actions', 'input'].includes(block['type'])
    if (!known) return 'invalid_blocks'
    if (block['type'] === 'header' && (bad(block['text'], 150) || block['text'].type !== 'plain_text'))
      return 'invalid_blocks'
    if (block['type'] === 'section') {
      if (!block['text'] && !block['fields']) return 'invalid_blocks'
      if (block['text'] && bad(block['text'], 3000)) return 'invalid_blocks'
      const { fields = [] } = block
      if (fields.length > 10 || fields.some((one: Shown) => bad(one, 2000))) return 'invalid_blocks'
    }
    if (block['type'] === 'input' && isBadInput(block, bad)) return 'invalid_blocks'
    if ((block['elements'] ?? []).length > 25) return 'invalid_blocks'
    for (const element of block['elements'] ?? []) {
      if (element.type !== 'button' || bad(element.text, 75) || element.text.type !== 'plain_text')
        return 'invalid_blocks'
      if ((element.value ?? '').length > 2000 || element.action_id.length > 255) return 'invalid_blocks'
      const { confirm } = element
      if (confirm && (bad(confirm.title, 100) || bad(confirm.text, 300) || bad(confirm.confirm, 30)))
        return 'invalid_blocks'
    }
  }
  return null
}

type IsBad = (text: Shown | undefined, most: number) => boolean

/** Whether an input block breaks a limit: of its words, of a text, or of the options of a select. */
function isBadInput({ label, hint, element }: Shown, bad: IsBad): boolean {
  if (bad(label, 2000) || (hint && bad(hint, 2000))) return true
  if (element.type === 'plain_text_input') return element.max_length < 1 || element.max_length > 3000
  if (element.type !== 'static_select') return true
  const { options, initial_option: initial } = element
  if (options.length < 1 || options.length > 100) return true
  if (options.some((one: Shown) => bad(one['text'], 75) || !one['value'] || one['value'].length > 150))
    return true
  return initial && !options.some((one: Shown) => JSON.stringify(one) === JSON.stringify(initial))
}

export interface Signing {
  secret?: string
  /** Seconds since 1970. */
  timestamp?: number
  signature?: string
  /** The body that is sent instead of the signed one. */
  body?: string
}

/** Sends an interaction to Gatehouse as Slack does, signed. */
export async function interact(
  url: string,
  payload: Shown,
  { secret = signingSecret, timestamp = Math.floor(Date.now() / 1000), signature, body }: Signing = {},
): Promise<{ status: number; body: any }> {
  const signed = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
  const response = await fetch(`${url}/slack/interactions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': String(timestamp),
      'x-slack-signature': signature ?? signatureOf(secret, String(timestamp), signed),
    },
    body: body ?? signed,
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null }
}

let presses = 0

/** The payload of a press of a button in a message. */
export function pressOf(
  message: Shown,
  action: 'approve' | 'reject' | 'respond' | 'open' | 'test',
  user: string,
  more: Shown = {},
): Shown {
  const block = message['blocks'].find(({ type }: Shown) => type === 'actions')
  const button = block.elements.find(({ action_id }: Shown) => action_id === `gatehouse_${action}`)
  return {
    type: 'block_actions',
    team,
    user: { id: user, username: 'someone', team_id: team.id },
    api_app_id: 'A1',
    trigger_id: `trigger.${++presses}`,
    container: { type: 'message', channel_id: channel },
    actions: [
      {
        type: 'button',
        action_id: button.action_id,
        block_id: 'b',
        value: button.value,
        action_ts: `${presses}`,
      },
    ],
    ...more,
  }
}

/** The payload of a press of the button of the newest test message; Slack names the message then. */
export function testPressOf(slack: Pick<SlackServer, 'messages'>, user: string): Shown {
  const [ts, message] = [...slack.messages].findLast(([, one]) => /A test of Gatehouse/.test(one['text']))!
  return pressOf(message, 'test', user, {
    container: { type: 'message', message_ts: ts, channel_id: channel },
  })
}

/** The payload of a submitted modal, with what was chosen in its selects by their names. */
export function submissionOf(
  view: Shown,
  reason: string | null,
  user: string,
  chosen: Record<string, string> = {},
): Shown {
  const selects = view['blocks'].filter(({ element }: Shown) => element.type === 'static_select')
  const values = selects.map(({ block_id: id, element }: Shown) => {
    const value = chosen[id] ?? element.initial_option.value
    return [id, { [element.action_id]: { type: 'static_select', selected_option: { value } } }]
  })
  return {
    type: 'view_submission',
    team,
    user: { id: user, username: 'someone', team_id: team.id },
    trigger_id: `trigger.${++presses}`,
    view: {
      ...view,
      state: {
        values: {
          reason: { reason: { type: 'plain_text_input', value: reason } },
          ...Object.fromEntries(values),
        },
      },
    },
  }
}
