import { expect, test } from 'vitest'
import { allowanceOf } from '../../src/store/work/fairness.ts'

const of = (counts: Record<string, number>) =>
  Object.entries(counts).flatMap(([project, count]) => Array.from({ length: count }, () => project))

test('a project that is alone takes every slot, and no more', () => {
  expect(allowanceOf(64, [])).toEqual({ limit: 64, crowded: [] })
  expect(allowanceOf(64, of({ a: 60 }))).toEqual({ limit: 4, crowded: [] })
  expect(allowanceOf(64, of({ a: 64 }))).toEqual({ limit: 1, crowded: ['a'] })
})

test('when all slots are taken those with less than their share take one of the spare ones', () => {
  expect(allowanceOf(64, of({ a: 60, b: 4 }))).toEqual({ limit: 1, crowded: ['a'] })
  expect(allowanceOf(64, of({ a: 22, b: 21, c: 21 }))).toEqual({ limit: 1, crowded: ['a', 'b', 'c'] })
  expect(allowanceOf(1, of({ a: 1 }))).toEqual({ limit: 1, crowded: ['a'] })
})

test('the spare slots have an end', () => {
  expect(allowanceOf(64, of({ a: 64, b: 8 }))).toBeNull()
  expect(allowanceOf(1, of({ a: 1, b: 1 }))).toBeNull()
})
