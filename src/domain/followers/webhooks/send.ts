/** One attempt to deliver: a signed POST over guarded egress, and what the receiver answered. */
import { entity } from '../../../core/shapes.ts'
import type { TraceContext } from '../../../core/telemetry/trace-context.ts'
import { shortText } from '../../../core/text.ts'
import type { Services } from '../../access/index.ts'
import type { SendGuard } from '../follower.ts'
import { keptHeaders, type AnswerHeader } from './answer-headers.ts'
import { askedDelayMs } from './retry.ts'
import { signedHeaders } from './signature.ts'

/** What is kept of the body of an answer. */
const keptBytes = 1024
const keptCharacters = 500

/** What came of one attempt. */
export interface Answer {
  at: string
  /** The HTTP status; null when there was no response. */
  status: number | null
  /** Why there was no response, or why the response is not a success. */
  error: string | null
  /** Of the response; absent without one, and in older rows. */
  headers?: AnswerHeader[]
  /** The beginning of the body of the response. */
  body: string | null
  milliseconds: number
}

export const WebhookAnswer = entity<Answer>()('WebhookAnswer')

export interface Outcome {
  /** `withheld`: nothing was sent, because the lease may have ended or the process stops. */
  kind: 'delivered' | 'failed' | 'gone' | 'withheld'
  answer: Answer
  /** How long the receiver asked to wait with Retry-After, in milliseconds. */
  askedMs: number | null
}

/** What is sent: the id is the same in every attempt. */
export interface Message {
  id: string
  body: string
  /** Where the run or call of the event is in a trace. */
  trace?: TraceContext | undefined
}

export interface WebhookTarget {
  projectId: string
  url: string
  /** The present secret first. */
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
