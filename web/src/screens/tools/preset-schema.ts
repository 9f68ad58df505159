/** Which arguments of a tool can be fixed, and the schema of those that are. Pure. */
import { isObject } from '../../../../src/core/exact-json.ts'
import { initialValue } from '../../parts/schema-form-values.ts'
import type { Schema } from '../../parts/schema-form-resolve.ts'
import type { ToolDetail } from './documents.ts'

/** The schemas with the arguments of a tool, those of its actions included; null when they are hidden from this person. */
function schemasOf(tool: ToolDetail): readonly Schema[] | null {
  if (tool.__typename === 'McpTool' || tool.__typename === 'PlatformTool')
    return tool.actions.map(({ inputSchema }) => inputSchema)
  return tool.fullInputSchema ? [tool.fullInputSchema] : null
}

const propertiesOf = (schema: Schema): Schema => (isObject(schema['properties']) ? schema['properties'] : {})

/** The names of all arguments, fixed ones included; null when they are hidden. */
export function presetNames(tool: ToolDetail): string[] | null {
  const schemas = schemasOf(tool)
  return schemas && [...new Set(schemas.flatMap((schema) => Object.keys(propertiesOf(schema))))]
}

/**
 * A schema of an object with these arguments, as the first schema that has them says; others take any value.
 */
export function presetSchema(tool: ToolDetail, names: readonly string[]): Schema {
  const schemas = schemasOf(tool) ?? []
  const home = schemas.find((schema) => names.some((name) => Object.hasOwn(propertiesOf(schema), name)))
  const { required: _required, allOf: _all, anyOf: _any, oneOf: _one, not: _not, ...rest } = home ?? {}
  // Only one schema keeps its definitions, so an argument of another one takes any value.
  const properties = names.map((name) => {
    const own = home && Object.hasOwn(propertiesOf(home), name)
    return [name, own ? propertiesOf(home)[name] : {}] as const
  })
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(properties),
    required: [...names],
    additionalProperties: false,
  }
}

/** The presets with one more, when its field begins with a value. */
export function withPreset(
  tool: ToolDetail,
  presets: Record<string, unknown>,
  name: string,
): Record<string, unknown> {
  const schema = presetSchema(tool, [name])
  const value = initialValue(propertiesOf(schema)[name], schema)
  return value === undefined ? presets : { ...presets, [name]: value }
}
