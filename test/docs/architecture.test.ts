/** docs/architecture.md is true where the code can say so. */
import { expect, test } from 'vitest'
import { stateDiagram, transitions, toolCallStatuses } from '../../src/domain/tool-calls/index.ts'
import { read } from './documents.ts'

const text = read('docs/architecture.md')

test('the state diagram of tool calls is the transition table', () => {
  const diagrams = [...text.matchAll(/```mermaid\n([\s\S]*?)\n```/g)].map((match) => match[1])
  expect(diagrams).toContain(stateDiagram())
})

test('the diagram has an edge into every status and names every transition', () => {
  const edges = stateDiagram().split('\n').slice(1)
  for (const status of toolCallStatuses)
    expect(
      edges.some((edge) => edge.includes(`--> ${status}:`)),
      status,
    ).toBe(true)
  for (const name of Object.keys(transitions))
    expect(
      edges.some((edge) => edge.includes(`${name} (`)),
      name,
    ).toBe(true)
})

test('every step of a walk links to the file that does it', () => {
  const walks = text.split(/^##+ /m).filter((section) => /^\d+\. /m.test(section))
  expect(walks).toHaveLength(5)
  for (const walk of walks) expect(walk.match(/^\d+\. /gm)!.length).toBeLessThanOrEqual(6)
  const steps = walks.flatMap((walk) => walk.split(/^(?=\d+\. )/m).slice(1))
  for (const step of steps) expect(step).toMatch(/\]\(\.\.\/src\/[\w./-]+\.ts\)/)
})
