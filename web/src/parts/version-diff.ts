/** What differs between two versions of a definition. Pure. */
import { changesBetween, type Change } from './diff.ts'

/** A change as the API tells it: null where a side does not exist. */
export interface PointedChange {
  /** A JSON Pointer (RFC 6901). */
  path: string
  before: unknown
  after: unknown
}

/** What a comparison needs of a version. */
export interface ComparedVersion {
  version: number
  definition: Record<string, unknown>
  changes: readonly PointedChange[]
}

/** A JSON Pointer as people read a place: `gate.approvers[0]`. */
export function placeOf(pointer: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`),
    '',
  )
}

const masked = '[masked]'

/** A change of a version with its place as people read it; what is null does not exist. */
export const shownChange = ({ path, before, after }: PointedChange): Change => ({
  path: placeOf(path),
  before: before ?? undefined,
  after: after ?? undefined,
})

/**
 * The places that differ between two of these versions, of which `versions` has every one between them. A hidden value has
 * the same mask in each version, so the versions on the way say whether it changed.
 */
export function differences(versions: readonly ComparedVersion[], from: number, to: number): Change[] {
  const of = (wanted: number) => versions.find(({ version }) => version === wanted)?.definition ?? {}
  const found = changesBetween(of(from), of(to)).map(({ path, before, after }): Change => ({
    path,
    before: before ?? undefined,
    after: after ?? undefined,
  }))
  const known = new Set(found.map(({ path }) => path))
  const [low, high] = [Math.min(from, to), Math.max(from, to)]
  const onTheWay = versions.filter(({ version }) => version > low && version <= high)
  for (const change of onTheWay.flatMap(({ changes }) => changes)) {
    const shown = shownChange(change)
    if (shown.before !== masked || shown.after !== masked || known.has(shown.path)) continue
    known.add(shown.path)
    found.push(shown)
  }
  return found
}
