import { expect, test } from 'vitest'
import { allowanceOf } from '../../src/store/work/worker.ts'

const of = (counts: Record<string, number>) =>
  Object.entries(counts).flatMap(([project, count]) => Array.from({ length: count }, () => project))

test('a single project takes every slot, and no more', () => {
  expect(allowanceOf(64, [])).toEqual({ limit: 64, crowded: [] })
  expect(allowanceOf(64, of({ a: 60 }))).toEqual({ limit: 4, crowded: [] })
  expect(allowanceOf(64, of({ a: 64 }))).toEqual({ limit: 1, crowded: ['a'] })
})

test('when all slots are in use, projects with less than their share get a spare one', () => {
  expect(allowanceOf(64, of({ a: 60, b: 4 }))).toEqual({ limit: 1, crowded: ['a'] })
  expect(allowanceOf(64, of({ a: 22, b: 21, c: 21 }))).toEqual({ limit: 1, crowded: ['a', 'b', 'c'] })
  expect(allowanceOf(1, of({ a: 1 }))).toEqual({ limit: 1, crowded: ['a'] })
})

test('the number of spare slots is limited', () => {
  expect(allowanceOf(64, of({ a: 64, b: 8 }))).toBeNull()
  expect(allowanceOf(1, of({ a: 1, b: 1 }))).toBeNull()
})
