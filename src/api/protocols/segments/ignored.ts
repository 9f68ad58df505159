/** Fields that clients send by default and that change nothing of what runs: named in a header and the log, not refused. */
import { invalidAt } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Ctx } from '../../../domain/access/index.ts'

/** The most names in the header and the log. */
const mostNamed = 20
const fieldName = /^[a-z][\w-]{0,63}$/i

/** The fields of a body that an API does not know. INVALID for what is no name of a field. */
export function unknownFields(body: JsonObject, known: Record<string, unknown>): string[] {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(known, name))
  const wrong = unknown.find((name) => !fieldName.test(name))
  if (wrong !== undefined) throw invalidAt(['body'], 'has a member whose name is no name of a field')
  return unknown
}

/** The header that names what was ignored, and a line in the log; no header when that is nothing. */
export function ignoredHeaders(ctx: Ctx, ignored: readonly string[]): Record<string, string> {
  if (ignored.length === 0) return {}
  const named = ignored.slice(0, mostNamed)
  ctx.log.info({ ignored: named }, 'fields of a request were ignored')
  return { 'gatehouse-ignored': named.join(', ') }
}
