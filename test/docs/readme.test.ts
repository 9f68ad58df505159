/** README stays one screen of words, and its picture shows what the product says. */
import { buildSchema, isEnumType } from 'graphql'
import { expect, test } from 'vitest'
import { read } from './documents.ts'

test('README has at most 500 words, examples included', () => {
  expect(read('README.md').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(500)
})

test('the picture is small, and names only events and mutations that exist', () => {
  const picture = read('docs/picture.svg')
  expect(picture.length).toBeLessThan(20_000)
  expect(read('README.md')).toContain('docs/picture.svg')
  const schema = buildSchema(read('docs/schema.graphql'))
  const events = schema.getType('EventType')
  if (!isEnumType(events)) throw new Error('EventType is no enum')
  const names = events.getValues().map((value) => value.name)
  const shown = [...picture.matchAll(/>([A-Z]+(?:_[A-Z]+)+)</g)].map((match) => match[1]!)
  const drawnEvents = shown.filter((name) => name !== 'END_TURN')
  expect(drawnEvents.length).toBeGreaterThan(5)
  for (const name of drawnEvents) expect(names).toContain(name)
  const mutations = Object.keys(schema.getMutationType()!.getFields())
  for (const name of ['startGeneration', 'decideApproval']) {
    expect(picture).toContain(`>${name}<`)
    expect(mutations).toContain(name)
  }
})

test('LICENSE is the text that package.json names', () => {
  const { license } = JSON.parse(read('package.json')) as { license: string }
  expect(license).toBe('Apache-2.0')
  expect(read('LICENSE')).toMatch(/Apache License\s+Version 2\.0, January 2004/)
  expect(read('LICENSE')).toContain('END OF TERMS AND CONDITIONS')
})
