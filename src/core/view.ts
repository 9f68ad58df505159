/**
 * The fields of what an API shows, each with its description. A field that names an object may have that object beside it,
 * or in its place. Pure.
 */
import { z } from 'zod'
import type { Json, JsonObject } from './json.ts'
import { bareOf, ids as idsOf, idShape, scalar } from './shapes.ts'

export { idShape as id }

/** A text; also one of some words that have no enum. */
export const text = <Value extends string = string>(about: string) =>
  scalar('String', z.custom<Value>()).describe(about)
export const texts = (about: string) => z.array(z.string()).describe(about)
export const ids = (about: string) => idsOf(z.string()).describe(about)
export const flag = (about: string) => z.boolean().describe(about)
/** True, or left out; shown as true or false. */
export const mark = (about: string) => z.literal(true).optional().describe(about)
export const int = (about: string) => z.int().describe(about)
/** A number that may be greater than those of 32 bits. */
export const float = (about: string) => z.number().describe(about)
export const date = (about: string) => z.date().describe(about)
/** A time that is kept as ISO 8601. */
export const isoDate = (about: string) => scalar('DateTime', z.string()).describe(about)
export const json = (about: string) => scalar('JSON', z.custom<Json>()).describe(about)
export const jsonObject = <Value extends object = JsonObject>(
  about: string,
): z.ZodCustom<NoInfer<Value>, NoInfer<Value>> => scalar('JSONObject', z.custom<Value>()).describe(about)
export const jsonSchema = (about: string) => scalar('JSONSchema', z.custom<JsonObject>()).describe(about)

/** The object that a field names, or a list of them for a list of ids: what it is called beside the id. */
export interface Relation {
  as: string
  entity:
    | 'Agent'
    | 'Approval'
    | 'File'
    | 'Generation'
    | 'Grant'
    | 'Principal'
    | 'Project'
    | 'Step'
    | 'Thread'
    | 'Tool'
    | 'ToolCall'
  about: string
}
const relations = z.registry<Relation>()

/** A field that names an object. */
export function withRelation<Shape extends z.ZodType>(shape: Shape, relation: Relation): Shape {
  relations.add(shape, relation)
  return shape
}
export const relationOf = (shape: z.core.$ZodType): Relation | undefined =>
  relations.get(shape) ?? relations.get(bareOf(shape))

const shownNames = z.registry<{ as: string | null }>()

/** A field that is shown under another name. */
export function under<Shape extends z.ZodType>(as: string, shape: Shape): Shape {
  shownNames.add(shape, { as })
  return shape
}

/** A field that is not shown by itself. */
export function internal<Shape extends z.ZodType>(shape: Shape): Shape {
  shownNames.add(shape, { as: null })
  return shape
}

/** The name under which a field is shown; null: not at all. */
export function fieldNameOf(shape: z.core.$ZodType, name: string): string | null {
  const own = shownNames.get(shape) ?? shownNames.get(bareOf(shape))
  return own ? own.as : name
}

/** The id of an object, which is shown in its place; beside it where the id has a description of its own. */
export function object(as: string, entity: Relation['entity'], about: string, aboutId?: string): z.ZodString {
  const id = aboutId === undefined ? internal(z.string()) : idShape(aboutId)
  return withRelation(id, { as, entity, about })
}

/** The same of an API key, a person or the server. */
export const principal = (as: string, about: string, aboutId?: string): z.ZodString =>
  object(as, 'Principal', about, aboutId)
