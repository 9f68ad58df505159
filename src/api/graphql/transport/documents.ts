/**
 * Documents that are parsed and validated once, by their text, within bounds for fields of the same name. Bounded,
 * because callers choose the texts.
 */
import {
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
  GraphQLError,
  Lexer,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
  visit,
  type GraphQLSchema,
  type ValidationRule,
} from 'graphql'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxJsonDepth } from '../../../core/json.ts'
import { canonicalText } from '../../../core/text.ts'
import { BoundedMap } from '../../../core/bounded.ts'
import type { Log } from '../../../core/log.ts'
import { documentFault, maskError } from '../builder/errors.ts'
import { schemaOf } from '../types/schema.ts'

/** The most pairs to compare, the most fields to visit with their fragments, and the most levels. */
const mostOverlaps = { pairs: 10_000, fields: 50_000, levels: 60 }

/** Why the document would take too long to validate, or null. Time and memory grow with the limits, not with the document. */
export function overlapFault(document: DocumentNode): string | null {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions)
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  const counts = { pairs: 0, fields: 0 }
  // Fragments are compared by themselves too.
  for (const definition of document.definitions) {
    if (!('selectionSet' in definition)) continue
    const fault = count([definition.selectionSet], fragments, counts, 1)
    if (fault) return fault
  }
  return null
}

/** Counts what is selected by these sets together, which belong to fields of one name. */
function count(
  sets: readonly SelectionSetNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  counts: { pairs: number; fields: number },
  level: number,
): string | null {
  if (level > mostOverlaps.levels) return `is nested deeper than ${mostOverlaps.levels} levels`
  const byName = new Map<string, { times: number; inner: SelectionSetNode[] }>()
  const spread = new Set<string>()
  const open = [...sets]
  for (let set = open.pop(); set; set = open.pop())
    for (const selection of set.selections) {
      if (++counts.fields > mostOverlaps.fields) return `selects more than ${mostOverlaps.fields} fields`
      if (selection.kind === Kind.INLINE_FRAGMENT) open.push(selection.selectionSet)
      else if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const { value: name } = selection.name
        const fragment = spread.has(name) ? undefined : fragments.get(name)
        spread.add(name)
        if (fragment) open.push(fragment.selectionSet)
      } else {
        const name = (selection.alias ?? selection.name).value
        const same = byName.get(name) ?? { times: 0, inner: [] }
        byName.set(name, same)
        counts.pairs += same.times++
        if (selection.selectionSet) same.inner.push(selection.selectionSet)
        if (counts.pairs > mostOverlaps.pairs) return `selects fields of the same name too often`
      }
    }
  for (const { inner } of byName.values()) {
    const fault = inner.length > 0 ? count(inner, fragments, counts, level + 1) : null
    if (fault) return fault
  }
  return null
}

/** A document that may run, or why it is refused. */
export type PreparedDocument = { document: DocumentNode } | { errors: readonly GraphQLError[] }

export interface Documents {
  schema: GraphQLSchema
  /** Parses and validates a text with all limits of documents. Never throws. */
  prepare(text: string): PreparedDocument
}

/** The most documents that are kept, and the most characters of one: longer ones are prepared each time. */
const mostDocuments = { documents: 1000, length: 8192 }

/** Limits of a document, in addition to those of its cost (operationLimits). */
const documentLimits = { tokens: 2000, aliases: 30, directives: 50 }

/** The least recently used document is dropped first. */
export function createDocuments(log: Log): Documents {
  const schema = schemaOf()
  const kept = new BoundedMap<string, PreparedDocument>(mostDocuments.documents)
  return {
    schema,
    prepare(text) {
      const prepared = kept.get(text) ?? prepareText(schema, text, log)
      if (text.length <= mostDocuments.length) kept.set(text, prepared)
      return prepared
    },
  }
}

/** Faults are told without literal values and suggestions, with the codes that Yoga and Apollo give them. */
function prepareText(schema: GraphQLSchema, text: string, log: Log): PreparedDocument {
  try {
    if (isNestedTooDeep(text))
      return refused(
        [new GraphQLError(`The document is nested deeper than ${maxJsonDepth} levels.`)],
        'GRAPHQL_PARSE_FAILED',
      )
    const document = canonical(parse(text, { maxTokens: documentLimits.tokens }), text)
    const overlap = overlapFault(document)
    const errors = overlap
      ? [new GraphQLError(`The document ${overlap}.`)]
      : validate(schema, document, rules)
    return errors.length > 0 ? refused(errors, 'GRAPHQL_VALIDATION_FAILED') : { document }
  } catch (error) {
    return error instanceof GraphQLError
      ? refused([error], 'GRAPHQL_PARSE_FAILED')
      : { errors: [maskError(error, log)] }
  }
}

/** Whether lists, objects or selections are nested deeper than JSON may be: the parser and the rules would overflow the stack. */
function isNestedTooDeep(text: string): boolean {
  if (text.split(/[[{]/, maxJsonDepth + 2).length <= maxJsonDepth + 1) return false
  const lexer = new Lexer(new Source(text))
  let depth = 0
  for (let tokens = 0; tokens <= documentLimits.tokens; tokens++) {
    const { kind } = lexer.advance()
    if (kind === TokenKind.EOF) return false
    if (kind === TokenKind.BRACKET_L || kind === TokenKind.BRACE_L) depth++
    if (kind === TokenKind.BRACKET_R || kind === TokenKind.BRACE_R) depth--
    if (depth > maxJsonDepth) return true
  }
  return false
}

/** Texts of variables are canonical since they were read; those of the document can have an escape of NUL. */
function canonical(document: DocumentNode, text: string): DocumentNode {
  if (!/\\u(?:0000|\{0+\})/.test(text)) return document
  return visit(document, {
    StringValue: (node) => ({ ...node, value: canonicalText(node.value) }),
  }) as DocumentNode
}

function refused(errors: readonly GraphQLError[], code: string): PreparedDocument {
  for (const { extensions } of errors) extensions['code'] ??= code
  return { errors: errors.map(documentFault) }
}

const rules = [
  ...specifiedRules,
  ...rulesOf(maxAliasesPlugin({ n: documentLimits.aliases })),
  ...rulesOf(maxDirectivesPlugin({ n: documentLimits.directives })),
]

/** The validation rules of a plugin for Envelop. */
function rulesOf({ onValidate }: ReturnType<typeof maxAliasesPlugin>): ValidationRule[] {
  const added: ValidationRule[] = []
  void onValidate!({ addValidationRule: (rule: ValidationRule) => added.push(rule) } as never)
  return added
}
