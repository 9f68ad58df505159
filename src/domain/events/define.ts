/**
 * How a kind of event is declared: its name, the shape and examples of its data, which logs it is written to and who
 * is told.
 */
import { z } from 'zod'
import { fieldNameOf, internal, withRelation, type Relation } from '../../core/view.ts'
import { descriptionOf, exampleOf, idShape, scalar, withExample } from '../../core/shapes.ts'

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

/** An id. */
export const id = (about: string, example: string) => withExample(idShape(about), example)

/** A text, such as a name. */
export const word = (about: string, example: string) => withExample(z.string().describe(about), example)

/** A whole number. */
export const number = (about: string, example: number) => withExample(z.int().describe(about), example)

/** A list of texts. */
export const words = (about: string, example: string[]) =>
  withExample(z.array(z.string()).describe(about), example)

/** One of these names, which programs know. */
export const code = <const Names extends readonly [string, ...string[]]>(
  about: string,
  names: Names,
  example: Names[number],
) => withExample(scalar('String', z.enum(names)).describe(about), example as never)

/** The same as the reason of what has happened. */
export const reason = <const Names extends readonly [string, ...string[]]>(
  names: Names,
  example: Names[number],
) => code('The stable code of the reason, for programs.', names, example)

/** The id of an object that GraphQL shows instead. */
export const link = (example: string, relation: Relation) =>
  withRelation(internal(withExample(z.string(), example)), relation)

/** The call that it is about. */
export const toolCallId = link('call_1', {
  as: 'toolCall',
  entity: 'ToolCall',
  about: 'The tool call as it is now; null when it is hidden from this API key.',
})

/** The approval that it is about. */
export const approvalId = link('apr_1', {
  as: 'approval',
  entity: 'Approval',
  about: 'The approval as it is now; null when it is hidden from this API key.',
})

/** The name of what it is about, as it was. */
export const name = word('The name of the tool, agent or project at the time of the event.', 'pay')

/** An agent. */
export const agentId = id('The id of the agent.', 'agt_1')

/** What it is about, of whichever kind. */
export const target = id('The id of the object that it is about.', 'tool_1')

/** What an approver said. */
export const verdict = code('The verdict: APPROVE or REJECT.', ['APPROVE', 'REJECT'], 'APPROVE')

/** Who decided something. */
export const deciderId = id(
  'The id of the API key or person that decided, or `system` for a result that arrived late.',
  'key_1',
)

/** The same, and the principal. */
export const deciderField = withRelation(deciderId.clone(), {
  as: 'decider',
  entity: 'Principal',
  about: 'The principal that decided.',
})

/** The number of a step in its generation. */
export const stepIndex = number('The number of the step in the generation, from 1.', 2)
