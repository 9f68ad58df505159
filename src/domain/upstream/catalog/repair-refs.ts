/** Makes every reference of a foreign schema one inside this schema, or takes it out. Pure. */
import { localRefs } from '../../../core/local-refs.ts'
import { mapSchemas, resolveRef } from '../../../core/schema-walk.ts'
import type { JsonObject } from '../../../core/json.ts'

/**
 * The schema with local references alone (see `localRefs`). A bare name means the definition of this name; what leads nowhere is
 * taken out, so that it allows everything. `changed` is called for each.
 */
export function repairedRefs(root: JsonObject, changed: () => void): JsonObject {
  const own = localRefs(root, changed)
  return mapSchemas(own, (schema) => {
    const { $ref: ref, ...rest } = schema
    if (typeof ref !== 'string' || resolveRef(own, ref) !== undefined) return schema
    changed()
    return rest
  }) as JsonObject
}
