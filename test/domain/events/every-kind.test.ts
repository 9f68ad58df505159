/** Every kind of event from its constructor through the log to every field of its GraphQL type. */
import { sql } from 'drizzle-orm'
import { getNamedType, isCompositeType, isObjectType, type GraphQLField } from 'graphql'
import { expect, test } from 'vitest'
import { schemaOf } from '../../../src/api/graphql/types/schema.ts'
import {
  appendProjectEvents,
  eventKinds,
  rootCopies,
  type EventFacts,
  type ProjectEvent,
} from '../../../src/domain/events/index.ts'
import { insertGenerationEvents } from '../../../src/store/events/log.ts'
import { query } from '../../../src/store/db/database.ts'
import { openHarness } from '../../support/harness.ts'
import { append, makeGenerations } from '../../support/log-writer.ts'
import { eventTypes, generationSamples, sampleOf, samples } from './samples.ts'
import { forFile } from '../../support/for-file.ts'

const ofEveryEvent = new Set(['cursor', 'generationId', 'projectId', 'type', 'at'])
const schema = schemaOf()

const h = await forFile(openHarness({ role: 'api' }))
const projectId: string = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id

/** TOOL_CALL_SETTLED is a ToolCallSettledEvent. */
function nameOf(type: string): string {
  const own = type.replace(
    /_?([A-Z])([A-Z]*)/g,
    (_, first: string, rest: string) => first + rest.toLowerCase(),
  )
  return `${(eventKinds as Record<string, { facts: EventFacts }>)[type]?.facts.object ?? own}Event`
}

/** The fields that this kind has beside those of all events. */
function fieldsOf(type: string): GraphQLField<unknown, unknown>[] {
  const object = schema.getType(nameOf(type))
  if (!isObjectType(object)) throw new Error(`${nameOf(type)} is no object type`)
  return Object.values(object.getFields()).filter((field) => !ofEveryEvent.has(field.name))
}

const isRelation = (field: GraphQLField<unknown, unknown>) => isCompositeType(getNamedType(field.type))

function selection(types: readonly string[]): string {
  const fragments = types.map((type) => {
    const names = fieldsOf(type).map((field) => `${field.name} ${isRelation(field) ? '{ __typename }' : ''}`)
    return names.length > 0 ? `... on ${nameOf(type)} { ${names.join(' ')} }` : ''
  })
  return `__typename type cursor at ${fragments.join('\n')}`
}

/** Fields with principals, and where an event has their ids. */
const idOf: Record<string, string> = { decider: 'decidedBy', proposer: 'proposedBy' }

/** What GraphQL returns of an event: its data field by field, and null for rows that the samples do not have. */
function expected(type: keyof typeof samples, data: Record<string, unknown>) {
  const shown = fieldsOf(type).map((field) => {
    // Of a principal that nothing else is known of, the id is.
    const id = idOf[field.name]
    if (id) return [field.name, data[id] ? { __typename: 'Principal' } : null]
    if (isRelation(field)) return [field.name, field.name === 'toolCalls' ? [] : null]
    const name = field.name === 'faultCode' ? 'code' : field.name
    return [field.name, data[name] ?? null]
  })
  return { __typename: nameOf(type), type, ...Object.fromEntries(shown) }
}

test('a type and every field of it in GraphQL for each kind in the feed of a project', async () => {
  const types = eventTypes.filter((type) => !eventKinds[type].traits.inGeneration)
  const made = types.map((type) => ({ ...sampleOf(type), requestedBy: null }) as ProjectEvent)
  await appendProjectEvents(h.app.services.db, projectId, made)
  const feed = `subscription { projectEvents(after: "0") { ${selection(types)} } }`
  const events = await h.collect(feed, {}, (found) => found.length === types.length)
  expect(events).toMatchObject(types.map((type) => expected(type, samples[type])))
})

test('a type and every field of it in GraphQL for each kind in the log of a generation', async () => {
  const [id] = await makeGenerations(h.app.services.db, projectId, 1)
  await append(h.app.services, projectId, id!, generationSamples)
  const types = generationSamples.map(({ type }) => type)
  const { data, errors } = await h.gql(
    `query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { ${selection(types)} } } } }`,
    { id },
  )
  expect(errors).toBeUndefined()
  expect(data['generation'].events.nodes).toMatchObject(types.map((type) => expected(type, samples[type])))
})

test('the log of a root shows the copies of a run below it with its id, and no other event of it', async () => {
  const db = h.app.services.db
  const [root] = await makeGenerations(db, projectId, 1)
  const copies = rootCopies(generationSamples, 'gen_below')
  await query(
    db,
    sql`with g as (update generations set last_seq = ${copies.length}::int where id = ${root}
      returning id, project_id, requested_by, last_seq) ${insertGenerationEvents(copies)}`,
  )
  const { data } = await h.gql(
    `query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { ${selection(copies.map(({ type }) => type))} } } } }`,
    { id: root },
  )
  expect(data['generation'].events.nodes).toMatchObject(
    copies.map(({ type, data: copied }) => expected(type, copied)),
  )
  expect(copies.map(({ type }) => type).toSorted()).toEqual([
    'APPROVAL_DECIDED',
    'APPROVAL_ESCALATED',
    'APPROVAL_EXPIRED',
    'APPROVAL_EXTENDED',
    'APPROVAL_REQUESTED',
    'APPROVAL_VOIDED',
    'APPROVAL_VOTED',
    'CHILD_ENDED',
    'CHILD_STARTED',
    'REQUIRES_ACTION',
  ])
})
