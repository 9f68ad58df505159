/** The messages of a thread for people: what users and the model said in it, oldest first, page by page. */
import { z } from 'zod'
import { part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'
import type { Message } from '../models/index.ts'
import { AppError } from '../../core/errors.ts'
import { badCursor, type Page, type PlaceInList } from '../../core/page.ts'
import { query } from '../../store/db/database.ts'
import { maxPageBytes } from '../../store/db/lists.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { assertMay, type Ctx } from '../access/index.ts'
import { messageRole, type Thread } from './threads.ts'

/** A message with its files by id or name and without their bytes. */
const inputAttachment = part('InputAttachment', 'A file of an input message.', {
  fileId: view
    .object(
      'file',
      'File',
      'The uploaded file; null when it was deleted or is hidden from this API key, or for bytes that were sent with the message.',
    )
    .nullable(),
  filename: view.text('The name of the file; null when it had none.').nullable(),
  mediaType: view.text('The media type of the file.'),
})
export const inputMessage = part('InputMessage', 'A message that a generation was started with.', {
  role: messageRole.describe('The author of the message.'),
  content: view.text('The text of the message.'),
  attachments: z
    .array(inputAttachment)
    .describe('The files of the message; a list without entries is empty.'),
})
export type InputMessage = z.output<typeof inputMessage>

/** A message with its text, and its files without their bytes. */
export function shownMessage({ role, parts }: Message): InputMessage {
  const texts: string[] = []
  const attachments: InputMessage['attachments'] = []
  for (const piece of parts) {
    if (piece.type === 'text') texts.push(piece.text)
    else if (piece.type === 'file')
      attachments.push({
        fileId: piece.fileId ?? null,
        filename: piece.filename ?? null,
        mediaType: piece.mediaType,
      })
  }
  return { role: role === 'assistant' ? 'ASSISTANT' : 'USER', content: texts.join('\n'), attachments }
}

export const threadMessage = part(
  'ThreadMessage',
  'A message of a thread: of the user, or a text of the model.',
  {
    /** Derived, the same at each reading. */
    id: view.id('The id of the message; it begins with msg_.'),
    generationId: view
      .object(
        'generation',
        'Generation',
        'The generation that got or wrote the message; null for a message that the thread was opened with.',
      )
      .nullable(),
    ...inputMessage.shape,
    createdAt: view.date('When the generation of the message, or the thread, was created.'),
  },
)
export type ThreadMessage = z.output<typeof threadMessage>

/**
 * One page, oldest first. Messages of the model are those with text; what tools did is in the generations. A
 * generation that runs has the messages that it committed so far. Action `generations:Get` on every generation in the
 * page, and on the thread. RESPONSE_TOO_LARGE when the page has more than `maxPageBytes`.
 */
export async function listThreadMessages(ctx: Ctx, thread: Thread, page: Page): Promise<ThreadMessage[]> {
  return read(ctx, thread, {
    from: page.after && placeOf(page.after),
    to: page.before && placeOf(page.before),
    limit: page.limit,
    inverted: page.inverted,
  })
}

async function read(ctx: Ctx, thread: Thread, range: Range): Promise<ThreadMessage[]> {
  const { projectId } = thread
  await assertMay(ctx, 'generations:Get', projectId, `thread/${thread.id}`, { by: thread.createdBy })
  const rows = await query<Row>(ctx.db, statement(thread, range))
  if (rows.length > 0 && rows.length < rows[0]!.wanted)
    throw new AppError(
      'RESPONSE_TOO_LARGE',
      `These messages have more than ${maxPageBytes} bytes. Ask for smaller pages with first.`,
    )
  const owners = new Map(rows.map(({ owner, by }) => [owner, by]))
  for (const [owner, by] of owners)
    if (owner !== thread.id) await assertMay(ctx, 'generations:Get', projectId, `generation/${owner}`, { by })
  return rows.map((row) => ({
    ...shownMessage(row.message),
    id: messageIdOf(row),
    generationId: row.owner === thread.id ? null : row.owner,
    createdAt: new Date(row.ms),
  }))
}

/** Messages behind one place and before another. */
interface Range {
  from?: Place | undefined
  to?: Place | undefined
  limit: number
  inverted: boolean
}

interface Row {
  /** The generation, or the thread. */
  owner: string
  by: string | null
  /** 0 for a message of the input. */
  step: number
  /** Of the input from 0; of a step the attempt. */
  n: number
  message: Message
  ms: number
  wanted: number
}

/** The database weighs the messages and does not send those beyond the limit. */
function statement({ id, createdAt }: Thread, { from, to, limit, inverted }: Range): SQL {
  const order = inverted ? sql`desc` : sql`asc`
  const at = (place: Place) => sql`${place.createdAt.toISOString()}::timestamptz`
  const within = (columns: SQL, valueOf: (place: Place) => SQL, isStrict: boolean) => sql`
    ${from ? sql`and ${columns} ${sql.raw(isStrict ? '>' : '>=')} ${valueOf(from)}` : sql``}
    ${to ? sql`and ${columns} ${sql.raw(isStrict ? '<' : '<=')} ${valueOf(to)}` : sql``}`
  // Each generation has a message at least, so that one more than the page needs is enough.
  return sql`with g as (
      select id, requested_by, created_at, input from generations where thread_id = ${id}
        ${within(sql`(created_at, id)`, (place) => sql`(${at(place)}, ${place.owner})`, false)}
      order by created_at ${order}, id ${order} limit ${limit + 1}
    ),
    m as (
      select ${createdAt.toISOString()}::timestamptz as at, id as owner, created_by as by, 0 as step,
          (place - 1)::int as n, message
        from threads, jsonb_array_elements(coalesce(messages, '[]')) with ordinality as x(message, place)
        where id = ${id}
      union all
      select created_at, id, requested_by, 0, (place - 1)::int, message
        from g, jsonb_array_elements(input) with ordinality as x(message, place)
      union all
      select g.created_at, g.id, g.requested_by, s.step_index, s.attempt,
          jsonb_build_object('v', 1, 'role', 'assistant', 'parts', s.parts)
        from g join steps as s on s.generation_id = g.id
        where jsonb_path_exists(s.parts, '$[*] ? (@.type == "text" && @.text != "")')
    ),
    wanted as (
      select * from m where true
        ${within(
          sql`(at, owner, step, n)`,
          (place) => sql`(${at(place)}, ${place.owner}, ${place.step}::int, ${place.n}::int)`,
          true,
        )}
      order by at ${order}, owner ${order}, step ${order}, n ${order} limit ${limit}
    )
    select owner, by, step, n, message, ms, wanted from (
      select *, (extract(epoch from at) * 1000)::float8 as ms, (count(*) over ())::int as wanted,
        sum(octet_length(message::text)) over (order by at ${order}, owner ${order}, step ${order}, n ${order})
          - octet_length(message::text) as before
      from wanted
    ) as weighed where before < ${maxPageBytes}
    order by at ${order}, owner ${order}, step ${order}, n ${order}`
}

interface Place {
  createdAt: Date
  owner: string
  step: number
  n: number
}

/** `msg_<generation>_<step>_<attempt>` for the model's, as in the Responses API; step 0 is the input. */
function messageIdOf({ owner, step, n }: Pick<Row, 'owner' | 'step' | 'n'>): string {
  return `msg_${owner.replace(/^gen_/, '')}_${step}_${n}`
}

const idShape = /^msg_((?:thr_)?[0-9a-z]{1,40})_(\d{1,6})_(\d{1,6})$/

function placeOf({ at, id }: PlaceInList): Place {
  const named = partsOfId(id)
  if (!named) throw badCursor()
  return { createdAt: new Date(at), ...named }
}

function partsOfId(id: string): Omit<Place, 'createdAt'> | null {
  const [, body, step, n] = idShape.exec(id) ?? []
  if (!body) return null
  const owner = body.startsWith('thr_') ? body : `gen_${body}`
  return { owner, step: Number(step), n: Number(n) }
}
