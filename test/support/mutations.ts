/** Valid values broken in one or two places, for tests that require a refusal and no internal error. */
import fc from 'fast-check'

/** Values that are unexpected in any place. */
export const odd = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('', '\u0000', '\ud800', '__proto__', 'constructor', -1, 1e308, [], {}, [[[[]]]], {
    toString: 1,
  }),
  fc.string({ unit: 'binary', maxLength: 300 }),
)

export interface Change {
  at: number
  how: 'set' | 'drop' | 'wrap'
  value: unknown
}

export const changesOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Change[]> =>
  fc.array(fc.record({ at: fc.nat(), how: fc.constantFrom('set' as const, 'drop', 'wrap'), value }), {
    minLength: 1,
    maxLength: 2,
  })

/** Replaces, removes or wraps one of the values anywhere in it, in place; a bare value is replaced. */
export function mutate(root: unknown, { at, how, value }: Change): unknown {
  const places: [any, string][] = []
  const walk = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return
    for (const key of Object.keys(node)) {
      places.push([node, key])
      walk((node as any)[key])
    }
  }
  walk(root)
  if (places.length === 0) return value
  const [node, key] = places[at % places.length]!
  if (how === 'drop') delete node[key]
  else
    Object.defineProperty(node, key, {
      value: how === 'wrap' ? [node[key]] : value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  return root
}

/** The number of cases: `few` by default, FUZZ_CASES with `npm run fuzz`. */
export function fuzzCases(few: number): number {
  return Number(process.env['FUZZ_CASES'] ?? few)
}
