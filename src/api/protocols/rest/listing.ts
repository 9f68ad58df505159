/** Pages of lists: SOAT's clients read one page, and the Link header (RFC 8288) leads others to the next. */
import type { z } from 'zod'
import { decodePlace, encodePlace, type Page } from '../../../core/page.ts'
import type { ApiReply } from '../../http/authenticated-api.ts'
import type { list } from './shapes.ts'

type Query = z.output<typeof list>

interface Listed {
  id: string
  createdAt: Date
}

/** One row more is read than shown, to know whether a page follows. */
export async function listReply<Row extends Listed>(
  path: string,
  query: Query,
  read: (input: { projectId: string | undefined; page: Page }) => Promise<Row[]>,
  shown: (rows: Row[]) => unknown,
): Promise<ApiReply> {
  const limit = Number(query.limit ?? 100)
  const after = query.after === undefined ? undefined : decodePlace(query.after)
  const page = { limit: limit + 1, inverted: false, after }
  const rows = await read({ projectId: query.project_id, page })
  const last = rows.length > limit ? rows[limit - 1]! : null
  const next = new URLSearchParams({
    ...(query.project_id === undefined ? {} : { project_id: query.project_id }),
    limit: String(limit),
    ...(last ? { after: place(last) } : {}),
  })
  return {
    status: 200,
    body: shown(rows.slice(0, limit)),
    headers: last ? { link: `<${path}?${next}>; rel="next"` } : {},
  }
}

function place({ id, createdAt }: Listed): string {
  return encodePlace({ at: createdAt.getTime(), id })
}
