/** Which arguments a schema names. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../../core/json.ts'
import { refOf, resolveRef } from '../../../core/schema-walk.ts'

/** Keywords whose schemas apply to the same object. */
const combining = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else']

/** Whether the schema, or one that it combines or refers to, names this argument. */
export function namesArgument(schema: JsonObject, name: string): boolean {
  for (const { properties, required } of schemasOfArguments(schema)) {
    if (isJsonObject(properties) && Object.hasOwn(properties, name)) return true
    if (Array.isArray(required) && required.includes(name)) return true
  }
  return false
}

/** The arguments that the schema, or one that it combines or refers to, describes. */
export function argumentNames(schema: JsonObject): string[] {
  const names = [...schemasOfArguments(schema)].flatMap(({ properties }) =>
    isJsonObject(properties) ? Object.keys(properties) : [],
  )
  return [...new Set(names)]
}

/** The schemas that apply to the arguments as a whole. */
function* schemasOfArguments(schema: JsonObject): Generator<JsonObject> {
  const seen = new Set<Json>()
  const stack: (Json | undefined)[] = [schema]
  while (stack.length > 0) {
    const here = stack.pop()
    if (Array.isArray(here)) stack.push(...here)
    if (!isJsonObject(here) || seen.has(here)) continue
    seen.add(here)
    yield here
    const { dependentSchemas } = here
    if (isJsonObject(dependentSchemas)) stack.push(...Object.values(dependentSchemas))
    for (const keyword of combining) stack.push(here[keyword])
    const found = refOf(here)
    if (found) stack.push(resolveRef(schema, found.ref))
  }
}
