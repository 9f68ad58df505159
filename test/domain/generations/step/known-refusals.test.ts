import { expect, test } from 'vitest'
import type { Services } from '../../../../src/domain/access/index.ts'
import { rememberAccepted, rememberedOf } from '../../../../src/domain/generations/step/left-out.ts'

const accepted = (...tools: string[]) => ({
  refused: new Map(tools.map((tool) => [tool, 'No.'])),
  mostTools: null,
  longestDescription: null,
})
const place = { projectId: 'prj_1', model: 'p/m' }

test('what models refused is remembered for ten minutes from the first refusal, of each project by itself', () => {
  let now = 0
  const services = { db: {}, clock: { now: () => now } } as Services
  const known = () => [...(rememberedOf(services, place)?.refused.keys() ?? [])]
  expect(known()).toEqual([])
  rememberAccepted(services, place, accepted('a'))
  now = 9 * 60_000
  // A run that began before the first refusal does not know of it.
  rememberAccepted(services, place, accepted('b'))
  expect(known()).toEqual(['a', 'b'])
  expect(rememberedOf(services, { ...place, projectId: 'prj_2' })).toBeNull()
  expect(rememberedOf(services, { ...place, model: 'p/other' })).toBeNull()
  now = 10 * 60_000
  expect(known()).toEqual([])
  rememberAccepted(services, place, accepted('c'))
  expect(known()).toEqual(['c'])
})
