/** One delivery attempt to an e-mail address: a mail to it, and one to each recipient with a link and a code of their own. */
import { readJson } from '../../../core/json.ts'
import { sha256Hex } from '../../../core/signing.ts'
import { shortText } from '../../../core/text.ts'
import { query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Services } from '../../access/index.ts'
import { isMailAddress } from '../../egress/index.ts'
import { approvalEscalated, approvalExpired, approvalRequested } from '../../events/index.ts'
import type { SendGuard } from '../follower.ts'
import { mailTextOf, type Names, type PersonalLink, type MailSource } from './mail-text.ts'
import { send, type Answer, type Message, type Outcome, type WebhookTarget } from './send.ts'

const scheme = 'mailto:'

/** Types that an address is sent unless it is given others: questions, and what becomes of those nobody answers. */
const mailTypes = [approvalRequested.type, approvalExpired.type, approvalEscalated.type]

/** Whether an endpoint is an address instead of a URL. */
export const isMail = (url: string): boolean => url.startsWith(scheme)

/** Why no mails can be sent to this endpoint, as a message that follows a path; null: they can. */
export function faultOfMail({ mailer }: Pick<Services, 'mailer'>, url: string): string | null {
  if (!isMailAddress(url.slice(scheme.length)))
    return 'must be mailto: and one e-mail address, without a name or parameters'
  if (!mailer)
    return 'cannot be used: this server sends no e-mail (GATEHOUSE_SMTP_URL and GATEHOUSE_MAIL_FROM)'
  return null
}

/** One attempt to deliver a message, by mail or by a request, as the endpoint is. */
export function deliverOnce(
  services: Parameters<typeof send>[0] & Parameters<typeof sendMail>[0],
  target: WebhookTarget,
  message: Message,
  guard: Partial<SendGuard> = {},
): Promise<Outcome> {
  return (isMail(target.url) ? sendMail : send)(services, target, message, guard)
}

/** The types that an endpoint is sent: those it is given, else all (null), or for an address `mailTypes`. */
export function typesFor(url: string, types: readonly string[] | null): readonly string[] | null {
  return types ?? (isMail(url) ? mailTypes : null)
}

/** What came of the mails of one event. `failure`: the first; `isFinal`: a repeat is of no use. */
interface Sent {
  code: number | null
  lines: string[]
  failure: { error: string; status: number | null; isFinal: boolean } | null
  isWithheld: boolean
}

/**
 * Sends once; never throws for a fault of the mail server. A repeat after a failure sends all mails of the event again, each
 * with the Message-ID that it had. It is delivered when every mail was accepted.
 */
async function sendMail(
  services: Pick<Services, 'mailer' | 'limits' | 'clock' | 'db'>,
  target: WebhookTarget,
  message: Message,
  guard: Partial<SendGuard> = {},
): Promise<Outcome> {
  const start = performance.now()
  const at = new Date(services.clock.now()).toISOString()
  const { code, lines, failure, isWithheld } = await sendAll(services, target, message, guard)
  const answer: Answer = {
    at,
    status: failure ? failure.status : code,
    error: failure?.error ?? null,
    body: shortText(lines.join('\n'), 500) || null,
    milliseconds: Math.round(performance.now() - start),
  }
  const kind = isWithheld ? 'withheld' : failure ? 'failed' : 'delivered'
  return { kind, answer, askedMs: null, isFinal: failure?.isFinal ?? false }
}

/** One mail after the other. The others get theirs although one address is refused for good. */
async function sendAll(
  services: Pick<Services, 'mailer' | 'limits' | 'db'>,
  { webhookId, url }: WebhookTarget,
  message: Message,
  guard: Partial<SendGuard>,
): Promise<Sent> {
  const { mailer, limits } = services
  const sent: Sent = { code: null, lines: [], failure: null, isWithheld: false }
  if (!mailer)
    return {
      ...sent,
      failure: { error: 'This server has no GATEHOUSE_SMTP_URL.', status: null, isFinal: false },
    }
  const told = readJson(message.body) as unknown as MailSource
  const { verdictLinks, ...data } = told.data
  const personal = (verdictLinks ?? []) as unknown as PersonalLink[]
  const names = await namesOf(services, data['approvalId'])
  // What a server may echo of a mail.
  const hidden = personal.flatMap((one) => [one.url, one.code, one.url.slice(one.url.lastIndexOf('/') + 1)])
  for (const one of [null, ...personal]) {
    if (guard.mayStart?.() === false || guard.signal?.aborted) return { ...sent, isWithheld: true }
    const to = one?.address ?? url.slice(scheme.length)
    const unique = sha256Hex(`${webhookId} ${message.id} ${one?.principalId ?? ''}`).slice(0, 40)
    const outcome = await mailer.send(
      {
        to,
        ...mailTextOf({ ...told, data }, names, one),
        messageId: `${unique}@${mailer.domain}`,
        date: new Date(told.timestamp),
      },
      { timeoutMs: limits.webhookTimeoutMs, signal: guard.signal, hidden },
    )
    if (outcome.kind === 'sent') {
      sent.code = outcome.code
      sent.lines.push(`${to}: ${outcome.response}`)
      continue
    }
    if (guard.signal?.aborted) return { ...sent, isWithheld: true }
    const { final: isFinal, code: status } = outcome
    const failure = { error: `${to}: ${outcome.message}`, status, isFinal }
    if (!isFinal) return { ...sent, failure }
    sent.failure ??= failure
  }
  return sent
}

/** The names of the agent and of who asked, for an approval. */
async function namesOf({ db }: Pick<Services, 'db'>, approvalId: unknown): Promise<Names> {
  if (typeof approvalId !== 'string') return { agent: null, requester: null }
  const [row] = await query<Names>(
    db,
    sql`select (select name from agents where id = a.agent_id) as agent,
        coalesce(
          (select name from api_keys where id = a.requested_by),
          (select name from subjects where id = a.requested_by),
          a.requested_by
        ) as requester
      from approvals as a
      where a.id = ${approvalId}`,
  )
  return row ?? { agent: null, requester: null }
}
