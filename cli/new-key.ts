/** Shows a new key, once. */
import { note, oneLine, out, outJson } from './screen.ts'
import type { ParsedArguments } from './usage.ts'

/** The secret alone goes to the standard output, or with --json all of it. */
export function showNewKey(
  { options }: ParsedArguments,
  key: { id: string; name: string; secret: string },
): void {
  if (options['json']) return outJson(key)
  note(`${key.id}  ${oneLine(key.name)}; the key is shown only here:`)
  out(`${key.secret}\n`)
}
