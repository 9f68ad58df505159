/** One delivery attempt: a signed POST over guarded egress, the response, and the time of the next attempt. */
import type { z } from 'zod'
import * as view from '../../../core/view.ts'
import { mask } from '../../../core/scrub.ts'
import { entity, part } from '../../../core/shapes.ts'
import type { TraceContext } from '../../../core/telemetry/unit.ts'
import { shortText } from '../../../core/text.ts'
import type { Services } from '../../access/index.ts'
import type { SendGuard } from '../follower.ts'
import { signedHeaders } from './signature.ts'

/** A response header. */
export const answerHeader = part('WebhookAnswerHeader', 'A header of the response of an endpoint.', {
  name: view.text('The name of the header, in lower case.'),
  value: view.text(
    'The beginning of the value, at most 200 characters; [masked] for a cookie, a credential or a signature.',
  ),
})
type AnswerHeader = z.output<typeof answerHeader>

/** Limits of stored response headers: their number, characters of a name or value, and characters in all. */
export const mostHeaders = 20
const longestName = 100
const longestValue = 200
const mostCharacters = 1500

/** Headers whose values are secrets, by standard or by custom. */
const secret = /cookie|auth|token|secret|password|api-?key|credential|session|signature|jwt/

/** The first headers of a response that fit the limits. */
function keptHeaders(headers: Headers): AnswerHeader[] {
  const kept: AnswerHeader[] = []
  let left = mostCharacters
  for (const [name, given] of headers) {
    const value = secret.test(name) ? mask : given.slice(0, longestValue)
    left -= name.length + value.length
    if (kept.length === mostHeaders || left < 0) break
    kept.push({ name: name.slice(0, longestName), value })
  }
  return kept
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** The delay after each failure in turn; after the last one the delivery is dead. */
const delaysMs = [5 * second, minute, 5 * minute, 30 * minute, 2 * hour, 12 * hour]
const longestAskedMs = 24 * hour

/** Jitter of ten per cent, so that deliveries that failed together are not retried together. */
export function jitter(milliseconds: number, random: () => number = Math.random): number {
  return milliseconds * (0.9 + 0.2 * random())
}

/**
 * Milliseconds until the next attempt after this many failures, but no less than the receiver's Retry-After; null when there
 * is none.
 */
export function retryDelayMs(
  failures: number,
  askedMs: number | null,
  random: () => number = Math.random,
): number | null {
  const delay = delaysMs[failures - 1]
  return delay === undefined ? null : Math.max(jitter(delay, random), askedMs ?? 0)
}

/** An endpoint counts as down after this many rounds in a row in which everything failed. */
export const roundsUntilDown = 3
const longestProbeMs = 5 * minute

/** Milliseconds between probes of an endpoint that is down. */
export function probeDelayMs(failures: number, random: () => number = Math.random): number {
  return jitter(Math.min(5 * second * 2 ** (failures - roundsUntilDown), longestProbeMs), random)
}

/** The milliseconds of a Retry-After header, at most a day; null when there is none, or none that can be read. */
export function askedDelayMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null
  const milliseconds = /^\d+$/.test(header) ? Number(header) * second : Date.parse(header) - nowMs
  return Number.isFinite(milliseconds) ? Math.min(Math.max(milliseconds, 0), longestAskedMs) : null
}

/** How much of a response body is stored. */
const keptBytes = 1024
const keptCharacters = 500

/** The outcome of one attempt. */
export const answerShape = part(
  'WebhookAnswer',
  'The result of one attempt to send an event to an endpoint.',
  {
    at: view.isoDate('When the attempt was made.'),
    status: view
      .int('The HTTP status of the response, or the reply code of the mail server; null when there was none.')
      .nullable(),
    error: view.text('Why the attempt failed; null when the endpoint accepted the event.').nullable(),
    body: view
      .text('The beginning of the body of the response, at most 500 characters; null when it was empty.')
      .nullable(),
    milliseconds: view.int('How long the attempt took, in milliseconds.'),
  },
)
export interface Answer extends z.output<typeof answerShape> {
  /** Of the response; absent without one and in rows of earlier releases. */
  headers?: AnswerHeader[]
}

export const WebhookAnswer = entity<Answer>()('WebhookAnswer')

export interface Outcome {
  /** `withheld`: nothing was sent, because the lease may have ended or the process stops. */
  kind: 'delivered' | 'failed' | 'gone' | 'withheld'
  answer: Answer
  /** Whether a failure stays one, so that nothing is sent again. */
  isFinal?: boolean
  /** How long the receiver asked to wait with Retry-After, in milliseconds. */
  askedMs: number | null
}

/** A message; its id is the same in every attempt. */
export interface Message {
  id: string
  body: string
  /** The trace context of the run or call of the event. */
  trace?: TraceContext | undefined
}

export interface WebhookTarget {
  projectId: string
  webhookId: string
  /** `mailto:` and an address for mails. */
  url: string
  /** The current secret first. */
  secrets: readonly string[]
}

/**
 * Sends once; never throws. Only a 2xx is a success; a redirect is refused and 410 means that the endpoint is gone.
 * Connections are kept, and a repeat over a new one is harmless, because receivers recognise the id.
 */
export async function send(
  { egress, limits, clock }: Pick<Services, 'egress' | 'limits' | 'clock'>,
  target: WebhookTarget,
  message: Message,
  guard: Partial<SendGuard> = {},
): Promise<Outcome> {
  const startMs = clock.now()
  const start = performance.now()
  const response = await egress.request({
    method: 'POST',
    url: target.url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'gatehouse',
      ...message.trace,
      ...signedHeaders(target.secrets, message.id, message.body, startMs),
    },
    body: message.body,
    timeoutMs: limits.webhookTimeoutMs,
    maxBytes: keptBytes,
    maxRedirects: 0,
    isRepeatable: true,
    keptFor: target.projectId,
    ...guard,
  })
  const answer: Answer = {
    at: new Date(startMs).toISOString(),
    status: null,
    error: null,
    body: null,
    milliseconds: Math.round(performance.now() - start),
  }
  if (!response.ok) {
    const { code, message: error } = response.error
    const isWithheld = code === 'WITHHELD' || code === 'ABORTED' || guard.signal?.aborted === true
    return { kind: isWithheld ? 'withheld' : 'failed', answer: { ...answer, error }, askedMs: null }
  }
  const { status, headers, bytes } = response
  const body = shortText(bytes.toString('utf8'), keptCharacters) || null
  const received = { ...answer, status, headers: keptHeaders(headers), body }
  if (status >= 200 && status < 300) return { kind: 'delivered', answer: received, askedMs: null }
  return {
    kind: status === 410 ? 'gone' : 'failed',
    answer: { ...received, error: faultOf(status) },
    askedMs: status === 429 || status === 503 ? askedDelayMs(headers.get('retry-after'), startMs) : null,
  }
}

function faultOf(status: number): string {
  if (status >= 300 && status < 400) return `The endpoint answered ${status}: redirects are not followed.`
  return `The endpoint answered ${status}.`
}
