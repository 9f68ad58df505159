/** What is declared once is everywhere: an operation, a field of a tool and an event that are declared here alone. */
import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import RelayPlugin from '@pothos/plugin-relay'
import { graphql, isInterfaceType, isObjectType, printSchema, printType, type GraphQLSchema } from 'graphql'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Builder, SchemaTypes } from '../../src/api/graphql/builder/builder.ts'
import { addErrorTypes } from '../../src/api/graphql/builder/errors.ts'
import { addOperations } from '../../src/api/graphql/builder/operations.ts'
import type { EventShape, Refs } from '../../src/api/graphql/builder/refs.ts'
import { addScalars } from '../../src/api/graphql/builder/scalars.ts'
import { createShapes } from '../../src/api/graphql/builder/shapes.ts'
import { actionsIn } from '../../src/api/graphql/transport/actions.ts'
import { addEvent } from '../../src/api/graphql/types/events.ts'
import { schemaOf } from '../../src/api/graphql/types/schema.ts'
import { text, whole } from '../../src/core/check.ts'
import { changesBetween } from '../../src/core/json.ts'
import * as kept from '../../src/core/field-list.ts'
import { choice, entity, idOf, part, resetOnNull, withExample } from '../../src/core/shapes.ts'
import * as view from '../../src/core/view.ts'
import { inProject, operation, type Ctx } from '../../src/domain/access/index.ts'
import { event, kindsIn, projectOnly } from '../../src/domain/events/define.ts'
import { agentFields } from '../../src/domain/agents/index.ts'
import { Tool, toolFields, type ToolDefinition } from '../../src/domain/tools/index.ts'
import { createTrigger } from '../../src/domain/triggers/index.ts'
import { rolesFor } from '../api/graphql/role-matrix.ts'
import { eventLists } from './event-lists.ts'

const tree = choice('Tree', 'A kind of tree.', { OAK: 'An oak.', elm: 'An elm, in small letters.' })
const tool = { id: 'tool_1', name: 'spade', colour: 'grey' } as unknown as Tool

const plantTree = operation({
  name: 'plantTree',
  does: 'Plants a tree.',
  permission: ['tools:Create', ['gates:Update', 'its fence']],
  isAction: true,
  loosening: ['depth'],
  input: z
    .object({
      ...inProject,
      toolId: idOf('tool'),
      tree: tree.describe('What is planted.'),
      depth: whole(1, 9).nullish().describe('How deep, 1 to 9.'),
    })
    .describe('The tree to plant.'),
  payload: z
    .object({
      tool: Tool.describe('The tool that was used.'),
      height: z.int().nullable().describe('The height; null at first.'),
    })
    .describe('What was planted.'),
  refuses: ['LIMITED'],
  run: async (_ctx, given) => ({ tool: { ...tool, name: given.tree }, height: given.depth ?? null }),
})

const grew = event('TREE_GREW', {
  about: 'A tree grew.',
  log: projectOnly,
  group: 'resources',
  data: {
    treeId: withExample(idOf('tool', 'tree'), 'tool_1'),
    height: withExample(z.int().describe('The new height.'), 3),
    note: z.string().optional().describe('A note; null: none.'),
    rings: view.under('age', withExample(z.int().describe('The new age.'), 9)),
    plot: view.internal(withExample(z.string(), 'north')),
  },
})

const colour = kept.field(text(20).describe('The colour of the tool.'), {
  otherwise: 'grey',
  or: 'grey',
  shown: 'What the tool looks like.',
  loosens: true,
  seen: true,
})
const withColour = { ...toolFields, colour }

const gardenShape = part('Garden', 'A garden.', {
  size: view.under('area', view.int('The area.')),
  toolId: view.object('tool', 'Tool', 'The spade; null when it is hidden.'),
  isOpen: view.mark('Whether people may enter.'),
  openedAt: view.isoDate('When it was opened; null before.').nullable(),
})
interface Garden extends z.output<typeof gardenShape> {
  trees: string[]
}
const garden: Garden = { size: 3, toolId: 'tool_1', openedAt: '2026-01-02T03:04:05.678Z', trees: ['OAK'] }

/** A schema of what is planted alone. */
function planted(): GraphQLSchema {
  const builder = new SchemaBuilder<SchemaTypes>({
    plugins: [ComplexityPlugin, RelayPlugin],
    defaultFieldNullability: false,
    complexity: { disabled: true },
    relay: { nodeQueryOptions: false, nodesQueryOptions: false },
  }) as unknown as Builder
  addScalars(builder)
  builder.queryType({ fields: (t) => ({ here: t.boolean({ resolve: () => true }) }) })
  builder.mutationType({})
  const Painted = builder.objectRef<Tool & { colour: string }>('Tool')
  const shapes = createShapes(builder, { Tool: Painted })
  Painted.implement({
    fields: (t) => ({
      ...shapes.storedFields(t, withColour),
      id: t.exposeID('id'),
      version: t.int({ resolve: () => 1 }),
      inputSchema: t.field({ type: 'JSONSchema', resolve: () => ({}) }),
      createdAt: t.field({ type: 'DateTime', resolve: () => new Date(0) }),
      updatedAt: t.field({ type: 'DateTime', resolve: () => new Date(0) }),
    }),
  })
  const refs = { builder, ...addErrorTypes(builder), shapes } as unknown as Refs
  addOperations(refs as never, { plantTree })
  const { colour: own } = kept.fieldShapes(withColour)
  shapes.input('PaintToolInput', z.object({ ...resetOnNull({ colour: own }) }).describe('A painting.'))
  builder.mutationField('paint', (t) =>
    t.boolean({
      args: { input: t.arg({ type: 'PaintToolInput' as never }) },
      resolve: () => true,
    }),
  )
  const ProjectEvent = builder.interfaceRef<EventShape>('ProjectEvent').implement({
    fields: (t) => ({ at: t.field({ type: 'DateTime', resolve: () => new Date(0) }) }),
  })
  const GardenRef = builder.objectRef<Garden>('Garden')
  shapes.implement(GardenRef, gardenShape, (t) => ({
    count: t.int({ resolve: ({ trees }) => trees.length }),
  }))
  builder.queryField('garden', (t) => t.field({ type: GardenRef, resolve: () => garden }))
  const Lawn = builder.objectRef<Omit<Garden, 'size'>>('Lawn')
  // @ts-expect-error: an object without a field of its shape does not compile.
  void (() => shapes.implement(Lawn, gardenShape))
  addEvent(refs, 'TreeGrewEvent', [grew], [ProjectEvent as never])
  return builder.toSchema()
}
const schema = planted()
const typed = (name: string) => printType(schema.getType(name)!)

test('an operation is a mutation with its input, its payload and its refusals', () => {
  expect(typed('PlantTreeInput')).toBe(`"""The tree to plant."""
input PlantTreeInput {
  """How deep, 1 to 9."""
  depth: Int

  """The id of the project. Default: the project of the API key."""
  projectId: ID

  """The id of the tool; it begins with tool_."""
  toolId: ID!

  """What is planted."""
  tree: Tree!
}`)
  expect(typed('PlantTreePayload')).toContain('"""The height; null at first."""\n  height: Int\n')
  expect(typed('PlantTreePayload')).toContain('"""The tool that was used."""\n  tool: Tool!\n')
  expect(typed('PlantTreeResult')).toMatch(/= LimitReachedError \| PlantTreePayload \| ValidationError$/)
  expect(typed('Tree')).toContain('"""An elm, in small letters."""\n  ELM')
  expect(printSchema(schema)).toContain(
    'Plants a tree. Permission: tools:Create, and gates:Update for its fence; errors: LimitReachedError.',
  )
})

test('what is shown of an object is its object type: names, objects in place of ids, and marks', async () => {
  expect(typed('Garden')).toBe(`"""A garden."""
type Garden {
  """The area."""
  area: Int!
  count: Int!

  """Whether people may enter."""
  isOpen: Boolean!

  """When it was opened; null before."""
  openedAt: DateTime

  """The spade; null when it is hidden."""
  tool: Tool
}`)
  const { data } = await graphql({
    schema,
    source: '{ garden { area count isOpen openedAt tool { name } } }',
    contextValue: { loaders: { tools: { load: async () => tool } } },
  })
  expect(JSON.parse(JSON.stringify(data))).toEqual({
    garden: { area: 3, count: 1, isOpen: false, openedAt: garden.openedAt, tool: { name: 'spade' } },
  })
})

test('an operation is run with its checked input, and what it refuses is data', async () => {
  const run = async (input: object) => {
    const { data, errors } = await graphql({
      schema,
      source: `mutation($input: PlantTreeInput!) { plantTree(input: $input) { __typename
        ... on PlantTreePayload { height tool { name colour } } ... on ValidationError { issues { path } } } }`,
      variableValues: { input },
      contextValue: { ctx: {} },
    })
    expect(errors).toBeUndefined()
    return (data as any).plantTree
  }
  expect(await run({ toolId: 'tool_1', tree: 'ELM', depth: 2 })).toMatchObject({
    height: 2,
    tool: { name: 'elm' },
  })
  expect(await run({ toolId: 'tool_1', tree: 'OAK', depth: 99 })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'depth'] }],
  })
})

test('an operation is a platform action, and has its roles', () => {
  const [action] = actionsIn(schema)
  expect(action).toMatchObject({
    name: 'plant-tree',
    loosening: ['depth'],
    inputSchema: {
      properties: {
        depth: { type: ['integer', 'null'], description: 'How deep, 1 to 9.' },
        tree: { enum: ['ELM', 'OAK'] },
      },
      required: ['toolId', 'tree'],
    },
    outputSchema: { properties: { height: { type: ['integer', 'null'] }, tool: { type: 'object' } } },
  })
  expect(rolesFor(plantTree.declaration)).toEqual(['admin', 'developer'])
})

test('what does not fit a declaration does not compile', () => {
  expectTypeOf(plantTree).returns.resolves.toEqualTypeOf<{ tool: Tool; height: number | null }>()
  expectTypeOf<Parameters<typeof plantTree>[1]['tree']>().toEqualTypeOf<'OAK' | 'elm'>()
  const ctx = null as unknown as Ctx
  const wrong = () => [
    // @ts-expect-error a field is missing
    plantTree(ctx, { toolId: 'tool_1' }),
    // @ts-expect-error no such field
    plantTree(ctx, { toolId: 'tool_1', tree: 'OAK', leaves: 3 }),
    // @ts-expect-error no such value
    plantTree(ctx, { toolId: 'tool_1', tree: 'ASH' }),
    // @ts-expect-error no such field of a trigger
    createTrigger(ctx, { agentId: 'a', name: 'b', prompt: 'c', zone: 'UTC' }),
    operation({
      ...plantTree.declaration,
      // @ts-expect-error no field of the input
      loosening: ['width'],
      run: async () => ({ tool, height: 1 }),
    }),
    // @ts-expect-error the payload lacks a field
    operation({ ...plantTree.declaration, run: async () => ({ tool }) }),
    // @ts-expect-error the input has no such field
    operation({ ...plantTree.declaration, run: async (_ctx, { width }) => ({ tool, height: width }) }),
    operation({
      ...plantTree.declaration,
      // @ts-expect-error no such permission
      permission: 'trees:Plant',
      run: async () => ({ tool, height: 1 }),
    }),
    // @ts-expect-error no error that a client must handle
    operation({ ...plantTree.declaration, refuses: ['INTERNAL'], run: async () => ({ tool, height: 1 }) }),
  ]
  const Shrub = entity<{ leaves: number }>()('Shrub')
  const Trigger = entity<{ leaves: number }>()('Trigger')
  const of = <Shape extends z.ZodType>(shape: Shape) =>
    operation({
      ...plantTree.declaration,
      loosening: [],
      input: z.object({}).describe('Nothing.'),
      payload: z.object({ it: shape }).describe('Something.'),
      run: async () => null as never,
    })
  const refs = null as unknown as Refs
  const wrongRefs = () => {
    // @ts-expect-error GraphQL has no object type of that name
    addOperations(refs, { one: of(Shrub) })
    // @ts-expect-error GraphQL has one of that name, of another shape
    addOperations(refs, { one: of(Trigger) })
    addOperations(refs, { one: of(Tool) })
  }
  expect([wrong, wrongRefs]).toHaveLength(2)
})

const given = { name: 'spade', config: { client: { inputSchema: { type: 'object' } } } }
const red = kept.storeFields(withColour, { ...given, colour: 'red' })

test('a field of a tool is given, kept, judged, listed and shown', () => {
  expect(typed('PaintToolInput')).toContain(
    '"""The colour of the tool. Left out: unchanged; null: grey."""\n  colour: String\n',
  )
  expect(typed('Tool')).toContain('"""What the tool looks like."""\n  colour: String!\n')
  expect(kept.storeFields(withColour, given).colour).toBe('grey')
  expect(kept.storeFields(withColour, { title: 'Spade' }, red)).toEqual({ ...red, title: 'Spade' })
  expect(kept.storeFields(withColour, { colour: null }, red).colour).toBe('grey')
  expect(kept.completeFields(withColour, kept.storeFields(toolFields, given)).colour).toBe('grey')
  const blue = kept.storeFields(withColour, { colour: 'blue', title: 'Spade' }, red)
  const changes = changesBetween(kept.viewOf(withColour, red, null), kept.viewOf(withColour, blue, null), 9)
  expect(changes.map(({ path }) => path)).toEqual(['/title', '/colour'])
  expect(kept.coverageOf(withColour, blue)).not.toEqual(kept.coverageOf(withColour, red))
  expect(kept.coverageOf(withColour, { ...red, title: 'x', description: 'y' })).toEqual(
    kept.coverageOf(withColour, red),
  )
  expect(kept.looseningOf(withColour)).toContain('colour')
})

test('no field of a tool is lost by an update of another one', () => {
  const full: ToolDefinition = kept.storeFields(toolFields, {
    name: 'spade',
    title: 'Spade',
    description: 'Digs.',
    presetParameters: { a: 1 },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
    timeoutMs: 5,
    idempotent: true,
    gate: { autoApprove: false } as never,
    agentsOnly: true,
    task: { mode: 'NEVER' },
    registryEntry: { name: 'com.example/spade', version: '1.0.0' },
    config: { http: { url: 'https://a.test', inputSchema: { type: 'object' } } },
  })
  for (const name of Object.keys(toolFields) as (keyof typeof toolFields)[])
    expect(kept.storeFields(toolFields, { [name]: undefined }, { ...full, id: 'tool_1' } as never)).toEqual(
      full,
    )
  const bare = kept.storeFields(toolFields, given)
  const same = Object.keys(full).filter((name) => full[name as 'name'] === bare[name as 'name'])
  expect(same, 'this test gives a value of its own to every field').toEqual(['name', 'mcp', 'platform'])
})

test('no setting of an agent is lost by an update of another one', () => {
  const own = kept.storeFields(agentFields, {
    maxSteps: 3,
    toolIds: ['tool_1'],
    mcp: { enabled: true },
    temperature: 1,
  })
  for (const name of Object.keys(agentFields) as (keyof typeof agentFields)[])
    expect(kept.storeFields(agentFields, { [name]: undefined }, own)).toEqual(own)
  expect(kept.storeFields(agentFields, { maxSteps: null }, own)).toEqual({ ...own, maxSteps: 20 })
})

test.each([
  // Each kind of tools has an object type with its own part of the config.
  ['Tool', toolFields, ['config']],
  ['Agent', agentFields, []],
])('every field of %s is a field of its GraphQL type', (name, list, elsewhere) => {
  const type = schemaOf().getType(name)
  if (!isInterfaceType(type) && !isObjectType(type)) throw new Error(`${name} has no fields`)
  expect(Object.keys(list).filter((field) => !(field in type.getFields()))).toEqual(elsewhere)
})

test('an event is an object, a sample and a line in the lists of the page', () => {
  expect(Object.keys(kindsIn({ grew, other: () => 1 }))).toEqual(['TREE_GREW'])
  expectTypeOf(grew({ treeId: 'a', height: 1, rings: 1, plot: 'b' }).data.height).toEqualTypeOf<number>()
  // @ts-expect-error a field is missing
  expect(grew({ treeId: 'a' }).type).toBe('TREE_GREW')
  const object = schema.getType('TreeGrewEvent')
  expect(isObjectType(object) && Object.keys(object.getFields()).toSorted()).toEqual([
    'age',
    'at',
    'height',
    'note',
    'treeId',
  ])
  expect(typed('TreeGrewEvent')).toContain('"""The new height."""\n  height: Int!\n')
  expect(typed('TreeGrewEvent')).toContain('"""A note; null: none."""\n  note: String\n')
  expect(grew.sample).toEqual({ treeId: 'tool_1', height: 3, rings: 9, plot: 'north' })
  expect(eventLists([grew])).toContain("TREE_GREW: { group: 'resources', isFollowed: true, isSent: true },")
})
