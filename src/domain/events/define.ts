/** How a kind of event is declared: its name, the shape of its data, which logs it is written to and who is told. */
import { z } from 'zod'
import { descriptionOf, exampleOf } from '../../core/shapes.ts'

/** Where events of a kind are written. Every event is also part of its project's feed. */
export interface EventTraits {
  /** It may be written to the log of a generation. Without a generation it is written to the project's feed alone. */
  inGeneration: boolean
  /** A generation that has a root copies it into the root's log. The feed leaves copies out. */
  copiedToRoot: boolean
  /** It tells of what a principal requested, a generation, call or approval, or of its file, and says whose that is. */
  ofRequester: boolean
}

export const projectOnly = { inGeneration: false, copiedToRoot: false, ofRequester: false } as const
export const ofRequester = { inGeneration: false, copiedToRoot: false, ofRequester: true } as const
export const inGeneration = { inGeneration: true, copiedToRoot: false, ofRequester: true } as const
export const copiedToRoot = { inGeneration: true, copiedToRoot: true, ofRequester: true } as const

/** What a field of the data names, shown under a name of its own: an object, or a list of them for a list of ids. */
export interface Relation {
  as: string
  entity: 'Principal' | 'ToolCall' | 'Approval' | 'Grant' | 'Generation' | 'Step'
  about: string
}
const relations = z.registry<Relation>()

/** A field that names an object. */
export function withRelation<Shape extends z.ZodType>(shape: Shape, relation: Relation): Shape {
  relations.add(shape, relation)
  return shape
}
export const relationOf = (shape: z.core.$ZodType): Relation | undefined => relations.get(shape)

const names = z.registry<{ as: string | null }>()

/** A field that GraphQL shows under another name, or (null) does not show: webhooks alone have it. */
export function withFieldName<Shape extends z.ZodType>(shape: Shape, as: string | null): Shape {
  names.add(shape, { as })
  return shape
}

/** The name under which GraphQL shows a field of the data; null: not at all. */
export function fieldNameOf(shape: z.core.$ZodType, name: string): string | null {
  const own = names.get(shape)
  return own ? own.as : name
}

interface Declaration<Data extends z.ZodRawShape, Traits> {
  /** What has happened, in a sentence. */
  about: string
  /** The logs that it is written to. */
  log: Traits
  data: Data
  /** Where people find it among the others. */
  group: 'approvals' | 'gates' | 'runs' | 'calls' | 'agents' | 'resources' | 'project'
  /** The object type in GraphQL that it shares with kinds of the same data. Absent: one that is named after the kind. */
  object?: string
  /** Only the page of its run listens to it. Absent: every page. */
  onlyInRun?: true
  /** It is never sent to webhooks. */
  unsent?: true
}

/** What a kind says about itself beside its type and traits. */
export type EventFacts = Omit<Declaration<never, never>, 'log' | 'data'> & { data: z.ZodObject }

/** A kind of event. Called with its data it makes an event, which is not written by that. */
export interface EventKind<Type extends string, Data, Traits extends EventTraits = EventTraits> {
  (data: Data): { type: Type; data: Data }
  readonly type: Type
  readonly traits: Traits
  readonly facts: EventFacts
  /** Made-up data. The ids are of nothing. */
  readonly sample: Data
}

type Output<Fields extends z.ZodRawShape> = z.output<z.ZodObject<Fields>>
/** A field that is left out is not undefined: JSON has no such value. */
type DataOf<Fields extends z.ZodRawShape> = {
  [Name in keyof Output<Fields>]: Exclude<Output<Fields>[Name], undefined>
}

/** Declares a kind of event. */
export function event<
  const Type extends string,
  Data extends z.ZodRawShape,
  const Traits extends EventTraits,
>(type: Type, { log: traits, ...facts }: Declaration<Data, Traits>): EventKind<Type, DataOf<Data>, Traits> {
  const data = z.object(facts.data)
  for (const [name, shape] of Object.entries(data.shape))
    if (fieldNameOf(shape, name) !== null) descriptionOf(shape)
  const make = (given: DataOf<Data>) => ({ type, data: given })
  const sample = exampleOf(data) as DataOf<Data>
  return Object.assign(make, { type, traits, facts: { ...facts, data }, sample })
}

type Kind = Pick<EventKind<string, never>, 'type' | 'traits'>
/** The kinds among some exports, by their types. */
export type KindsIn<Exports> = {
  [Name in keyof Exports as Exports[Name] extends Kind ? Exports[Name]['type'] : never]: Exports[Name]
}
export function kindsIn<Exports extends object>(exports: Exports): KindsIn<Exports> {
  const kinds = Object.values(exports).filter(
    (one: unknown): one is Kind => typeof one === 'function' && 'traits' in one,
  )
  return Object.fromEntries(kinds.map((kind) => [kind.type, kind])) as KindsIn<Exports>
}
