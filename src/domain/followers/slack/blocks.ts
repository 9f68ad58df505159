/** The message of an approval as blocks of Slack. Foreign text is plain text, never markup. Pure. */
import { plainLines } from '../../../core/text.ts'
import { type Json, type JsonObject, writeJson } from '../../../core/json.ts'
import { decisionOf, shownArguments, summaryOf, type Approval, type Vote } from '../../approvals/index.ts'
import { wordOf } from '../choices.ts'

/** Action ids of the buttons. */
export const approveAction = 'gatehouse_approve'
export const rejectAction = 'gatehouse_reject'
export const respondAction = 'gatehouse_respond'
export const openAction = 'gatehouse_open'
export const testAction = 'gatehouse_test'

/** What a message shows beside the approval itself. */
export interface MessageFacts {
  approval: Approval
  agentName: string | null
  /** The name of who requested the call. */
  requesterName: string | null
  destructive: boolean
  showArguments: boolean
  /** Until when its verdict refuses later calls, in milliseconds since 1970; null when it does not. */
  refusesUntilMs: number | null
  link: string
}

/** The state that a message shows; another one means that it is out of date. */
export function stateOf({ status, votes, digest, escalatedAt, expiresAt }: Approval): string {
  return [status, votes.length, digest, escalatedAt ? 'escalated' : '', expiresAt.getTime()].join(' ')
}

/** The arguments of chat.postMessage and chat.update, without channel and ts. */
export function messageOf(shown: MessageFacts): JsonObject {
  const { approval } = shown
  const open = approval.status === 'PENDING'
  const title = open ? 'Approval needed' : headlineOf(approval)
  return {
    // Shown in notifications, where it is markup: names have no place in it.
    text: open ? 'A tool call needs approval.' : 'A tool call was settled.',
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(title, 150) },
      ...(shown.showArguments ? [sentenceOf(approval)] : []),
      { type: 'section', fields: fieldsOf(shown) },
      ...whyOf(shown),
      ...(shown.showArguments ? [argumentsOf(approval)] : []),
      ...votesOf(shown),
      open ? actionsOf(shown) : linkOf(shown),
    ],
  }
}

/** A message whose button tells that presses arrive; after the press it says so. */
export function testMessage(integrationId: string, hasArrived = false): JsonObject {
  const text = hasArrived
    ? 'The press has arrived at Gatehouse. Questions are decided here with buttons like it.'
    : 'A test of Gatehouse. Press the button, so that Gatehouse knows that presses arrive.'
  const button = {
    type: 'button',
    action_id: testAction,
    text: plain('This is a test', 75),
    value: integrationId,
  }
  return {
    text,
    blocks: [
      { type: 'section', text: plain(text, 300) },
      ...(hasArrived ? [] : [{ type: 'actions', elements: [button] }]),
    ],
  }
}

/** What a button or modal carries: the approval, and the digest of the question that is shown beside it. */
export function valueOf({ id, digest }: Pick<Approval, 'id' | 'digest'>): string {
  return `${id} ${digest}`
}

/** The approval and digest that a button or modal of ours carries; null for anything else. */
export function readValue(value: unknown): { approvalId: string; digest: string } | null {
  const found = typeof value === 'string' ? /^(apr_\w{1,60}) (\S{1,120})$/.exec(value) : null
  return found ? { approvalId: found[1]!, digest: found[2]! } : null
}

/** Those of an approval that no vote has settled. */
const headlines = {
  APPROVED: 'Approved',
  REJECTED: 'Rejected',
  EXPIRED: 'Expired',
  VOIDED: 'Void',
  PENDING: '',
}

function headlineOf(approval: Approval): string {
  const vote = decisionOf(approval)
  return vote ? wordOf(vote) : headlines[approval.status]
}

function fieldsOf({ approval, agentName, requesterName }: MessageFacts): Json[] {
  const { runtimeName, expiresAt, requestedBy } = approval
  const seconds = Math.floor(expiresAt.getTime() / 1000)
  return [
    plain(`Tool: ${runtimeName}`, 300),
    plain(`Agent: ${agentName ?? 'none, a direct call'}`, 300),
    plain(`Requested by: ${requesterName ?? requestedBy}`, 300),
    // The only markup: it shows the time of the reader.
    {
      type: 'mrkdwn',
      text: `Until: <!date^${seconds}^{date_short_pretty} {time_secs}|${expiresAt.toISOString()}>`,
    },
  ]
}

/** What the call does. It has values of arguments. */
function sentenceOf(approval: Approval): Json {
  return { type: 'section', text: plain(summaryOf(approval).text, 2900) }
}

/** What the tool does, and what its gate requires. The sentence about the call has the title already. */
function whyOf({ approval: { question, requirement }, showArguments }: MessageFacts): Json[] {
  const { quorum, excludeRequester, approvers } = requirement
  const title = showArguments ? null : question?.title
  const what = [title, question?.description].filter(Boolean).join(': ')
  const rules = [
    quorum > 1 ? `${quorum} people must approve.` : null,
    excludeRequester ? 'Who requested it may not decide.' : null,
    ...approvers.map((roles) => `Only for the role ${roles.join(' or ')}.`),
  ].filter(Boolean)
  const text = [what, rules.join(' ')].filter(Boolean).join('\n')
  return text ? [{ type: 'section', text: plain(text, 2000) }] : []
}

function argumentsOf(approval: Approval): Json {
  return { type: 'section', text: plain(writeJson(shownArguments(approval), 1), 2900) }
}

function votesOf({ approval, refusesUntilMs, showArguments }: MessageFacts): Json[] {
  const { votes, status, voidReason } = approval
  const lines = votes.map((vote) => lineOf(vote, showArguments))
  if (refusesUntilMs !== null) {
    const until = new Date(refusesUntilMs).toISOString().slice(0, 16).replace('T', ' ')
    lines.unshift(`Later calls like it are rejected until ${until} UTC.`)
  }
  if (status === 'EXPIRED') lines.push('Nobody decided in time; the call was rejected.')
  if (status === 'VOIDED') lines.push(`No decision is needed any more (${voidReason ?? ''}).`)
  return lines.length > 0 ? [{ type: 'section', text: plain(lines.join('\n'), 2900) }] : []
}

/** An answer is what the tool would have returned: it is shown where arguments are. */
function lineOf(vote: Vote, showArguments: boolean): string {
  const { byName, via, reason, response } = vote
  const how = via === 'SLACK' ? ' in Slack' : via === 'LINK' ? ' with a link' : ''
  const said = response ? showArguments && response : reason
  return `${wordOf(vote)} by ${byName}${how}${said ? `: ${said}` : '.'}`
}

function actionsOf({ approval, destructive, link }: MessageFacts): Json {
  const value = valueOf(approval)
  const confirm = destructive ? { confirm: secondPress() } : {}
  return {
    type: 'actions',
    elements: [
      {
        type: 'button',
        action_id: approveAction,
        style: 'primary',
        text: plain('Approve', 75),
        value,
        ...confirm,
      },
      { type: 'button', action_id: rejectAction, style: 'danger', text: plain('Reject', 75), value },
      ...(approval.requirement.responses
        ? [{ type: 'button', action_id: respondAction, text: plain('Answer', 75), value }]
        : []),
      openButton(approval, link),
    ],
  }
}

function linkOf({ approval, link }: MessageFacts): Json {
  return { type: 'actions', elements: [openButton(approval, link)] }
}

function openButton(approval: Approval, url: string): Json {
  return { type: 'button', action_id: openAction, text: plain('Open', 75), value: valueOf(approval), url }
}

function secondPress(): JsonObject {
  return {
    title: plain('This tool can destroy something', 100),
    text: plain('Its effect may not be undone. Approve this call?', 300),
    confirm: plain('Approve', 30),
    deny: plain('Cancel', 30),
    style: 'danger',
  }
}

/** Text that Slack does not interpret, without control and bidirectional characters, cut to a length. */
export function plain(text: string, most: number): JsonObject {
  return { type: 'plain_text', emoji: false, text: plainLines(text, most) || '–' }
}
