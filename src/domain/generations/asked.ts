/** What led to a question: the agents from the root run to the one that asks, and what was said before the call. */
import { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import { valueHider } from '../../core/scrub.ts'
import { jsonb, query, type Database } from '../../store/db/database.ts'
import { sql } from '../../store/db/sql.ts'
import { rowsOf } from '../../store/db/rows.ts'
import { allows, holds, reachablePrincipals, type Ctx } from '../access/index.ts'
import type { Approval } from '../approvals/index.ts'
import { messageRole } from '../threads/index.ts'
import { resourceOf, valuesAt } from '../tools/index.ts'

const askingAgent = part('AskingAgent', 'An agent on the way from the start of a run to a call.', {
  id: view.id('The id of the agent; it begins with agt_.'),
  name: view
    .text('The name of the agent; null when it was deleted or is hidden from this API key.')
    .nullable(),
})

const askedMessage = part('AskedMessage', 'A message before a call.', {
  role: messageRole.describe('The author of the message.'),
  text: view.text(
    'The text of the message, at most 4,000 characters. Values that are masked in the arguments are replaced by ' +
      '[masked]; so is the whole text when they are not certain to be found in it.',
  ),
  isCut: view.flag('Whether the message is longer than the text.'),
})
type AskedMessage = z.output<typeof askedMessage>

export const approvalContext = part('ApprovalAsked', 'What led to a call that an approval is about.', {
  agents: z
    .array(askingAgent)
    .describe('The agents from the one that was started to the one that calls, at most 5.'),
  messages: z
    .array(askedMessage)
    .describe(
      'The first message of the user in the topmost generation, and the last ones of its thread before the call, ' +
        'oldest first, at most 6.',
    ),
})
export type ApprovalContext = z.output<typeof approvalContext>

export const maxMessages = 6
/** The longest text of a message, in UTF-16 code units. */
const maxText = 4_000
/** How much of a message is read, in characters: what is shown of it must be judged together with what follows. */
const readText = 2 * maxText

/**
 * For each approval what led to its call; null for a direct call, and for callers that may not read the root run:
 * `generations:Get` on it, of those that reach it or may decide about the approval. Other runs of the thread are judged
 * by the same rule, message by message. At most three statements, and no entry in the audit.
 */
export async function approvalContexts(
  ctx: Ctx,
  approvals: readonly Approval[],
): Promise<(ApprovalContext | null)[]> {
  const inRuns = approvals.filter(({ generationId }) => generationId !== null)
  if (inRuns.length === 0) return approvals.map(() => null)
  const chains = await chainsOf(ctx.db, inRuns)
  const mayRead = await readRule(ctx, inRuns)
  const shown = inRuns.flatMap((approval) => {
    const chain = chains.get(approval.id)
    const root = chain?.at(0)
    return root && mayRead(approval, `generation/${root.id}`, root.by)
      ? [{ approval, root, chain: chain! }]
      : []
  })
  const said = await messagesBefore(ctx.db, shown)
  const found = shown.map(({ approval, root, chain }): [string, ApprovalContext] => {
    const own = (said.get(approval.id) ?? []).filter(({ owner, by }) =>
      mayRead(approval, `${owner === root.threadId ? 'thread' : 'generation'}/${owner}`, by),
    )
    const agents = chain.map(({ agentId: id, agentName }) => ({
      id,
      name: allows(ctx.principal.policy, 'agents:Get', `agent/${id}`) ? agentName : null,
    }))
    return [approval.id, { agents, messages: messagesOf(approval, own) }]
  })
  const asked = new Map(found)
  return approvals.map(({ id }) => asked.get(id) ?? null)
}

type ReadRule = (approval: Approval, resource: string, by: string | null) => boolean

/** Whether the caller may read a run or thread of this requester because of the approval. One statement at most. */
async function readRule(ctx: Ctx, approvals: readonly Approval[]): Promise<ReadRule> {
  const { principal } = ctx
  const decides = ({ toolId }: Approval) => allows(principal.policy, 'approvals:Decide', resourceOf(toolId))
  const reached = approvals.every(decides) ? [] : await reachablePrincipals(ctx, 'generation/*')
  return (approval, resource, by) =>
    holds(principal, { by }) &&
    allows(principal.policy, 'generations:Get', resource) &&
    (decides(approval) ||
      reached === null ||
      (by !== null && reached.includes(by)) ||
      allows(principal.policy, 'generations:ReachOthers', resource))
}

/** One run of a chain. */
interface Link {
  approval: string
  id: string
  agentId: string
  agentName: string | null
  threadId: string
  by: string
  /** When the call was made. */
  at: string
}

/** From the root to the run that asks, by the id of the approval. */
async function chainsOf(db: Database, approvals: readonly Approval[]): Promise<Map<string, Link[]>> {
  const rows = await query<Link>(
    db,
    sql`with recursive chain as (
        select a.id as approval, t.created_at as at, 0 as up, g.id, g.parent_id, g.agent_id, g.thread_id, g.requested_by
        from approvals as a
        join tool_calls as t on t.id = a.tool_call_id
        join generations as g on g.id = a.generation_id
        where a.id in ${approvals.map(({ id }) => id)}
        union all
        select c.approval, c.at, c.up + 1, p.id, p.parent_id, p.agent_id, p.thread_id, p.requested_by
        from chain as c
        join generations as p on p.id = c.parent_id
      )
      select chain.approval, chain.id, chain.agent_id as "agentId", agents.name as "agentName",
        chain.thread_id as "threadId", chain.requested_by as by, chain.at::text as at
      from chain
      left join agents on agents.id = chain.agent_id
      order by chain.approval, chain.up desc`,
  )
  return byApproval(rows)
}

interface Said {
  approval: string
  /** The generation, or the thread for a message that it was opened with. */
  owner: string
  by: string | null
  isFirst: boolean
  role: string
  text: string | null
}

/**
 * The first message of the root run and the last ones of its thread before the call, oldest first, by the id of the
 * approval. A run has one message at least, so that the last runs have the last messages.
 */
async function messagesBefore(
  db: Database,
  asked: readonly { approval: Approval; root: Link }[],
): Promise<Map<string, Said[]>> {
  if (asked.length === 0) return new Map()
  const wanted = asked.map(({ approval, root }) => ({
    approval: approval.id,
    root: root.id,
    thread: root.threadId,
    at: root.at,
  }))
  const rows = await query<Said>(
    db,
    sql`select w.approval, m.owner, m.by, m.owner = w.root and m.step = 0 and m.n = first.n as "isFirst",
        m.message->>'role' as role, left(text.joined, ${readText + 1}) as text
      from ${rowsOf(jsonb(wanted), wanted.length, 'w(approval text, root text, thread text, at timestamptz)')}
      left join lateral (
        select x.n from generations as r, jsonb_array_elements(r.input) with ordinality as x(message, n)
        where r.id = w.root and x.message->>'role' = 'user'
        order by x.n limit 1
      ) as first on true
      cross join lateral (
        with g as (
          select id, requested_by, created_at, input from generations
          where thread_id = w.thread and (created_at <= w.at or id = w.root)
          order by id = w.root desc, created_at desc, id desc limit ${maxMessages + 1}
        ),
        m as (
          select t.created_at as at, t.id as owner, t.created_by as by, 0 as step, x.n, x.message
          from threads as t, jsonb_array_elements(coalesce(t.messages, '[]')) with ordinality as x(message, n)
          where t.id = w.thread
          union all
          select g.created_at, g.id, g.requested_by, 0, x.n, x.message
          from g, jsonb_array_elements(g.input) with ordinality as x(message, n)
          union all
          select g.created_at, g.id, g.requested_by, s.step_index, s.attempt,
            jsonb_build_object('role', 'assistant', 'parts', s.parts)
          from g join steps as s on s.generation_id = g.id
          where s.created_at < w.at and jsonb_path_exists(s.parts, '$[*] ? (@.type == "text" && @.text != "")')
        ),
        numbered as (
          select *, row_number() over (order by at desc, owner desc, step desc, n desc) as back from m
        )
        select * from numbered
        where back <= ${maxMessages} or (owner = w.root and step = 0 and n = first.n)
      ) as m
      cross join lateral (
        select string_agg(p.part->>'text', E'\n' order by p.n) as joined
        from jsonb_array_elements(m.message->'parts') with ordinality as p(part, n)
        where p.part->>'type' = 'text'
      ) as text
      order by w.approval, m.at, m.owner, m.step, m.n`,
  )
  return byApproval(rows)
}

function byApproval<Row extends { approval: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) groups.set(row.approval, [...(groups.get(row.approval) ?? []), row])
  return groups
}

/** The first message and the last ones, without the values that are masked in the call. */
function messagesOf(approval: Approval, said: readonly Said[]): AskedMessage[] {
  const spare = said.length - maxMessages
  const kept =
    spare > 0 ? said.filter((one, at) => one.isFirst || at >= said.length - (maxMessages - 1)) : said
  const hide = valueHider(
    [approval.arguments, approval.editedArguments].flatMap((args) => valuesAt(args, approval.masked ?? [])),
  )
  return kept.map(({ role, text }) => {
    const all = text ?? ''
    const shown = hide(all, all.length > readText)
    return { role: role === 'user' ? 'USER' : 'ASSISTANT', ...cut(shown) }
  })
}

function cut(text: string): { text: string; isCut: boolean } {
  if (text.length <= maxText) return { text, isCut: false }
  return { text: text.slice(0, maxText).replace(/[\ud800-\udbff]$/, ''), isCut: true }
}
