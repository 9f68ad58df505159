/** Arguments sent as headers (SEP-2243): checks that a tool marks them as the specification requires. Pure. */
import { isJsonObject, type Json } from '../../../core/json.ts'

const mark = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const primitive = new Set(['string', 'integer', 'boolean'])

/**
 * Returns why a tool must be left out, or null. A mark is allowed only on properties that are reached through
 * `properties` alone, on strings, integers and booleans, with a valid header name that no other property has.
 */
export function paramHeaderFault(inputSchema: Json): string | null {
  const seen = new Set<string>()
  const stack: { node: Json; reachable: boolean; root: boolean }[] = [
    { node: inputSchema, reachable: true, root: true },
  ]
  while (stack.length > 0) {
    const { node, reachable, root } = stack.pop()!
    if (Array.isArray(node))
      for (const item of node) stack.push({ node: item, reachable: false, root: false })
    if (!isJsonObject(node)) continue
    // A property may have the mark's own name: then its value is a schema.
    if (mark in node && !isJsonObject(node[mark])) {
      const fault =
        reachable && !root ? markFault(node[mark]!, node['type'], seen) : 'is not allowed in this place'
      if (fault) return `${mark} ${fault}`
    }
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && isJsonObject(value))
        for (const child of Object.values(value)) stack.push({ node: child, reachable, root: false })
      else if (key !== mark) stack.push({ node: value, reachable: false, root: false })
    }
  }
  return null
}

function markFault(value: Json, type: Json | undefined, seen: Set<string>): string | null {
  if (typeof value !== 'string' || !token.test(value)) return 'is not the name of a header'
  if (typeof type !== 'string' || !primitive.has(type)) return 'marks a value that no header can hold'
  const name = value.toLowerCase()
  if (seen.has(name)) return 'names one header twice'
  seen.add(name)
  return null
}
