/** Edited arguments from an approver who read masked ones: a mask that is sent back means "unchanged". */
import type { Issue } from '../../core/errors.ts'
import { copyJson, hashJson, type Json, type JsonObject, valueAt, writeJson } from '../../core/json.ts'
import { mask } from '../../core/scrub.ts'
import { masked, maskedPaths, type Callable } from '../tools/index.ts'
import { currentArguments, type Approval } from './approval.ts'

/**
 * The arguments with every mask replaced by the value that it hides. A mask at a path without a value is an issue,
 * and so is a mask inside a changed list, where it is not clear which value it means. Pure.
 */
export function unmasked(
  given: JsonObject,
  approval: Approval,
  tool: Callable,
): { arguments: JsonObject } | { issues: Issue[] } {
  const before = currentArguments(approval)
  const paths = [approval.masked ?? [], maskedPaths(tool, before), maskedPaths(tool, given)].flat()
  const [shownBefore, shownGiven] = [masked(before, paths), masked(given, paths)]
  const places = new Map(paths.map((path) => [writeJson(path), path]))
  const result = copyJson(given)
  const issues: Issue[] = []
  for (const path of places.values()) {
    if (valueAt(given, path) !== mask) continue
    const list = path.findIndex((_key, i) => Array.isArray(valueAt(given, path.slice(0, i))))
    const around = list === -1 ? null : path.slice(0, list)
    const value = valueAt(before, path)
    if (value === undefined)
      issues.push({ path, message: 'is a mask, but there is no value at this path: send the value' })
    else if (around && hashJson(valueAt(shownGiven, around)) !== hashJson(valueAt(shownBefore, around)))
      issues.push({ path, message: 'is a mask in a list that was changed: send the value' })
    else put(result, path, value)
  }
  return issues.length > 0 ? { issues } : { arguments: result }
}

function put(value: Json, path: readonly string[], to: Json): void {
  const parent = valueAt(value, path.slice(0, -1)) as Record<string, Json>
  Object.defineProperty(parent, path.at(-1)!, {
    value: to,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}
