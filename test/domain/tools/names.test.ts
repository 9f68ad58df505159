/** Names of tools: valid, stable, distinct. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collisions, isToolName, runtimeName } from '../../../src/domain/tools/fields.ts'

describe('names of tools', () => {
  it.each(['search', 'delete-post', '_x', 'A1', 'a'.repeat(64)])('accepts %s', (name) => {
    expect(isToolName(name)).toBe(true)
  })
  it.each(['', '1a', '-a', 'a b', 'a.b', 'é', 'a'.repeat(65), 'a\n', '__proto__ '])('refuses %j', (name) => {
    expect(isToolName(name)).toBe(false)
  })
})

describe('runtime names', () => {
  it('join the name and the part with an underscore', () => {
    expect(runtimeName(['search'])).toBe('search')
    expect(runtimeName(['github', 'create_issue'])).toBe('github_create_issue')
    expect(runtimeName(['public_doc', 'update-document'])).toBe('public_doc_update-document')
  })
  it('are cut at 64 characters with a suffix that never changes', () => {
    const name = runtimeName(['platform', 'x'.repeat(80)])
    expect(name).toBe(`platform_${'x'.repeat(46)}_4ec326a3`)
    expect(name).toHaveLength(64)
  })
  it('stay distinct when characters that models refuse are replaced', () => {
    const names = [['up', 'a.b'], ['up', 'a/b'], ['up', 'a_b'], ['1']].map(runtimeName)
    expect(new Set(names).size).toBe(4)
    expect(names[0]).toMatch(/^up_a_b_[0-9a-f]{8}$/)
    expect(names.every(isToolName)).toBe(true)
  })
  it('are valid for every list of parts', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (parts) => isToolName(runtimeName(parts))),
    )
  })
  it('differ for different second parts, however long', () => {
    const part = fc.string({ minLength: 50, maxLength: 90 })
    fc.assert(
      fc.property(
        part,
        part,
        (a, b) => a === b || runtimeName(['upstream', a]) !== runtimeName(['upstream', b]),
      ),
    )
  })
})

describe('collisions', () => {
  it('lists every repeated name once', () => {
    expect(collisions(['a', 'b', 'a', 'c', 'b', 'a'])).toEqual(['a', 'b'])
    expect(collisions(new Set(['a', 'b']))).toEqual([])
  })
})
