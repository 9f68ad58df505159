/**
 * Ajv for untrusted schemas: no code size that multiplies with references, no rule quadratic in the size of a value.
 */
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { exactRules, isMultiple, type RoundedCopy } from './exact-schema.ts'
import { canonicalJson, type JsonObject } from './json.ts'

/** One draft of JSON Schema. */
export interface Compiler {
  /** The first rule of the draft that a schema breaks; null when it is a valid schema. */
  fault(schema: JsonObject): ErrorObject | null
  /**
   * Throws when a reference cannot be resolved or a pattern is invalid. With `all` the function reports every error.
   */
  compile(schema: JsonObject, all: boolean): ValidateFunction
  /** The same, of a rounded schema and for rounded values: see `exact-schema.ts`. */
  compileExactly(schema: RoundedCopy): ValidateFunction
}

const options: Options = {
  strict: false,
  allowUnionTypes: true,
  validateFormats: true,
  // Otherwise an inherited name such as "constructor" counts as present.
  ownProperties: true,
  logger: false,
  // Otherwise the generated code doubles with each reference to a schema that has two references.
  inlineRefs: false,
  // Optimising doubles the time to compile, and most values are too small to gain from it.
  code: { optimize: false },
}

/** One instance validates schemas against their draft; others compile them without the meta-schema. */
const bare: Options = { ...options, meta: false, validateSchema: false }

const drafts = [
  { match: /draft-?0[67]/, create: (more: Options): Ajv => new Ajv(more) },
  { match: /2019-09/, create: (more: Options): Ajv => new Ajv2019(more) },
  { match: /2020-12/, create: (more: Options): Ajv => new Ajv2020(more) },
].map(({ match, create }) => ({
  match,
  compiler: once(() => compilerOf(create)),
  annotating: once(() => compilerOf((more) => create({ ...more, validateFormats: false }))),
}))

/** The compiler for what `$schema` says; undefined for a draft that is not supported. */
export function compilerFor(declared: string): Compiler | undefined {
  const draft = drafts.find(({ match }) => match.test(declared))
  return declared.endsWith(annotating) ? draft?.annotating() : draft?.compiler()
}

const annotating = '#format-annotation'

/**
 * The schema in the dialect of its draft in which `format` annotates and asserts nothing, as 2019-09 and 2020-12 have it; drafts
 * before them have no such dialect.
 */
export function withAnnotatingFormats(schema: JsonObject): JsonObject {
  const { $schema: given = 'https://json-schema.org/draft/2020-12/schema' } = schema
  if (typeof given !== 'string' || !/2019-09|2020-12/.test(given)) return schema
  return { ...schema, $schema: given.replace(/#?$/, annotating) }
}

function compilerOf(create: (options: Options) => Ajv): Compiler {
  const meta = linear(create(options))
  // Compiles the meta-schema now, outside the time limit of the first schema.
  meta.validateSchema({})
  return {
    fault: (schema) => (meta.validateSchema(schema) ? null : (meta.errors?.[0] ?? null)),
    // One instance for each schema: an "$id" of one tool must never resolve a "$ref" of another.
    compile: (schema, all) => linear(create({ ...bare, allErrors: all })).compile(schema),
    compileExactly: ({ value, exact }) =>
      exactRules(linear(create(bare)), exact).compile(value as JsonObject),
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/**
 * Replaces the rules of Ajv that are quadratic in the size of a value, `uniqueItems` and the format `url`, and the one that divides
 * doubles: 19.99 is a multiple of 0.01.
 */
function linear(ajv: Ajv): Ajv {
  addFormats.default(ajv)
  ajv.addFormat('url', { type: 'string', validate: isUrl })
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    error: { message: ({ schema }) => `must be multiple of ${schema}` },
    validate: (of: number, data: number) => isMultiple(of, data),
  })
  ajv.removeKeyword('uniqueItems')
  return ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (wanted: boolean, items: unknown[]) =>
      !wanted || new Set(items.map(canonicalJson)).size === items.length,
  })
}

const isUrl = (text: string) => /^(?:https?|ftp):\/\//i.test(text) && URL.canParse(text)
