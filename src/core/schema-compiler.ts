/** Ajv as strangers' schemas need it: no code that grows with references, no rule that grows with the square of a value. */
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { canonicalJson, type JsonObject } from './json.ts'

/** One draft of JSON Schema. */
export interface Compiler {
  /** The first rule of the draft that a schema breaks; null when it is a schema. */
  fault(schema: JsonObject): ErrorObject | null
  /** Throws when a reference leads nowhere or a pattern is no regular expression. With `all` it finds every fault. */
  compile(schema: JsonObject, all: boolean): ValidateFunction
}

const options: Options = {
  strict: false,
  allowUnionTypes: true,
  validateFormats: true,
  // Else an inherited name such as "constructor" counts as present.
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
  // Else the code doubles with each reference to a schema that has two.
  inlineRefs: false,
  // Takes as long as everything else, and schemas are compiled more often than their values are large.
  code: { optimize: false },
}

/** A schema is held against its draft by one instance, and compiled without it. */
const bare: Options = { ...options, meta: false, validateSchema: false }

const drafts = [
  { match: /draft-?0[67]/, create: (more: Options): Ajv => new Ajv(more) },
  { match: /2019-09/, create: (more: Options): Ajv => new Ajv2019(more) },
  { match: /2020-12/, create: (more: Options): Ajv => new Ajv2020(more) },
].map(({ match, create }) => ({ match, compiler: once(() => compilerOf(create)) }))

/** The compiler for what `$schema` says; undefined for a draft that is not supported. */
export function compilerFor(declared: string): Compiler | undefined {
  return drafts.find((draft) => draft.match.test(declared))?.compiler()
}

function compilerOf(create: (options: Options) => Ajv): Compiler {
  const meta = linear(create(options))
  // The draft itself is compiled at the first look, which belongs to nobody's time.
  meta.validateSchema({})
  return {
    fault: (schema) => (meta.validateSchema(schema) ? null : (meta.errors?.[0] ?? null)),
    // One instance for each schema: an "$id" of one tool must never resolve a "$ref" of another.
    compile: (schema, all) => linear(create({ ...bare, allErrors: all })).compile(schema),
  }
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/** Replaces the rules of Ajv that take the square of a value's size: equal items, and the format `url`. */
function linear(ajv: Ajv): Ajv {
  addFormats.default(ajv)
  ajv.addFormat('url', { type: 'string', validate: isUrl })
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
