import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seal, unseal } from '../../../src/domain/secrets/secrets.ts'

const key = randomBytes(32)

test('every text is decrypted unchanged, and no two encryptions of it are equal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const sealed = seal(key, text, 'proj_a/NAME')
      expect(unseal(key, sealed, 'proj_a/NAME')).toBe(text)
      expect(seal(key, text, 'proj_a/NAME')).not.toBe(sealed)
    }),
  )
})

test('another key, another context or a changed byte decrypts nothing', () => {
  const sealed = seal(key, 'value', 'proj_a/NAME')
  expect(() => unseal(randomBytes(32), sealed, 'proj_a/NAME')).toThrow()
  expect(() => unseal(key, sealed, 'proj_b/NAME')).toThrow()
  const bytes = Buffer.from(sealed.split('.')[1]!, 'base64url')
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes)
    changed[i]! ^= 1
    expect(() => unseal(key, `v1.${changed.toString('base64url')}`, 'proj_a/NAME')).toThrow()
  }
})
