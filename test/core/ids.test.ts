/** Ids are made from random bytes that are fetched for many of them at once. */
import { expect, test } from 'vitest'
import { idPrefixes, kindOfId, newId, type IdKind } from '../../src/core/ids.ts'

test('no random part comes twice, also when new bytes are fetched', () => {
  const ids = Array.from({ length: 2000 }, () => newId('toolCall'))
  expect(new Set(ids.map((id) => id.slice(-15))).size).toBe(ids.length)
})

test.each(Object.keys(idPrefixes) as IdKind[])('an id says that it is one of a %s', (kind) => {
  const id = newId(kind)
  expect(id).toMatch(/^[a-z]+_[0-9a-z]{24}$/)
  expect(kindOfId(id)).toBe(kind)
})
