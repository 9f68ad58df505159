/** What a mail about an event says: subject, plain text and simple HTML. Pure; everything foreign is one line, or escaped. */
import { isJsonObject, type Json, type JsonObject, writeJson } from '../../../core/json.ts'
import { escapeMarkup, oneLine, plainLines } from '../../../core/text.ts'
import { eventKinds, publicName, type EventType } from '../../events/index.ts'

/** A message as webhooks are sent it, read again. */
export interface MailSource {
  type: string
  timestamp: string
  data: JsonObject
}

/** Names that a mail has beside the message. */
export interface Names {
  agent: string | null
  requester: string | null
}

/** The link and code of one recipient. */
export interface PersonalLink {
  principalId: string
  address: string
  url: string
  code: string
}

const heads: Record<string, string> = {
  'approval.requested': 'Approval needed',
  'approval.expired': 'Expired',
  'approval.escalated': 'Still waiting for approval',
  'approval.voided': 'No approval needed any more',
  'approval.voted': 'Approved, and another person must approve, too',
  'webhook.test': 'A test of Gatehouse',
}

const aboutByType = new Map(
  (Object.keys(eventKinds) as EventType[]).map(
    (type) => [publicName(type), eventKinds[type].facts.about] as const,
  ),
)

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const longest = { subject: 160, line: 500, json: 20_000 }

function headOf({ type, data }: MailSource): string {
  if (type === 'approval.decided') return data['verdict'] === 'APPROVE' ? 'Approved' : 'Rejected'
  return heads[type] ?? type
}

/** Text, HTML and subject for the shared address, or with a link for one recipient. */
export function mailTextOf(told: MailSource, names: Names, personal: PersonalLink | null) {
  const { type, timestamp, data } = told
  const sentence = oneLine(text(data['summary']) || text(data['name']), longest.line)
  const subject = oneLine([headOf(told), sentence].filter(Boolean).join(': '), longest.subject)
  const facts: [name: string, value: string][] = []
  const add = (name: string, value: string) => {
    if (value !== '') facts.push([name, oneLine(value, longest.line)])
  }
  add('Tool', text(data['name']))
  if (data['approvalId']) add('Agent', names.agent ?? 'none, a direct call')
  add('Requested by', names.requester ?? '')
  if (type === 'approval.requested' || type === 'approval.escalated')
    add('Expires', expiryOf(text(data['expiresAt']), timestamp))
  const args = isJsonObject(data['arguments'])
    ? plainLines(writeJson(data['arguments'], 1), longest.json)
    : ''
  const link = text(data['link'])
  const intro = [sentence, data['test'] === true ? 'This is a test: nothing of it happened.' : aboutOf(type)]
  const links: [string, string][] = [
    ...(personal ? ([['Decide without signing in', personal.url]] as [string, string][]) : []),
    ...(link ? ([['Open it in the dashboard', link]] as [string, string][]) : []),
  ]
  const code = personal?.code ?? ''
  return {
    subject,
    text: plainOf(intro, facts, args, links, code),
    html: htmlOf(intro, facts, args, links, code),
  }
}

function aboutOf(type: string): string {
  return type === 'webhook.test'
    ? 'Mails of Gatehouse arrive at this address.'
    : (aboutByType.get(type) ?? '')
}

/** The time, and how long it was from the event on: the same in every attempt. */
function expiryOf(expiresAt: string, timestamp: string): string {
  const end = Date.parse(expiresAt)
  if (!Number.isFinite(end)) return ''
  const minutes = Math.round((end - Date.parse(timestamp)) / 60_000)
  const [amount, unit] =
    minutes < 120
      ? [minutes, 'minute']
      : minutes < 2880
        ? [Math.round(minutes / 60), 'hour']
        : [Math.round(minutes / 1440), 'day']
  const span = amount < 1 ? 'less than a minute' : `${amount} ${unit}${amount === 1 ? '' : 's'}`
  return `${new Date(end).toISOString().slice(0, 19).replace('T', ' ')} UTC, ${span} after this was sent`
}

type Pairs = [name: string, value: string][]

function plainOf(intro: string[], facts: Pairs, args: string, links: Pairs, code: string): string {
  const parts = [
    intro.filter(Boolean).join('\n'),
    facts.map(([name, value]) => `${name}: ${value}`).join('\n'),
    args && `Arguments:\n${args}`,
    ...links.map(([name, url]) => `${name}:\n${url}`),
    code && `Your code: ${code}\nIt is for you alone: do not forward this mail.`,
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

function htmlOf(intro: string[], facts: Pairs, args: string, links: Pairs, code: string): string {
  const [first = '', ...rest] = intro.filter(Boolean)
  const parts = [
    `<p><b>${escapeMarkup(first)}</b></p>`,
    ...rest.map((line) => `<p>${escapeMarkup(line)}</p>`),
    facts.length > 0 &&
      `<table>${facts.map(([name, value]) => `<tr><td>${name}</td><td>${escapeMarkup(value)}</td></tr>`).join('')}</table>`,
    args && `<pre style="white-space:pre-wrap">${escapeMarkup(args)}</pre>`,
    ...links.map(([name, url]) => `<p><a href="${escapeMarkup(url)}">${name}</a></p>`),
    code && `<p>Your code: <b>${escapeMarkup(code)}</b>. It is for you alone: do not forward this mail.</p>`,
  ]
  return `<!doctype html><html lang="en"><meta charset="utf-8"><body>${parts.filter(Boolean).join('')}</body></html>`
}
