/** Documents that are parsed and validated once, by their text. Bounded, because callers choose the texts. */
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import {
  GraphQLError,
  Lexer,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
  visit,
  type DocumentNode,
  type GraphQLSchema,
  type ValidationRule,
} from 'graphql'
import { maxJsonDepth } from '../../../core/json.ts'
import { canonicalText } from '../../../core/text.ts'
import { BoundedMap } from '../../../core/bounded-map.ts'
import type { Log } from '../../../core/log.ts'
import { documentFault, maskError } from '../builder/errors.ts'
import { schemaOf } from '../types/schema.ts'
import { overlapFault } from './overlaps.ts'

/** A document that may run, or why it is refused. */
export type Prepared = { document: DocumentNode } | { errors: readonly GraphQLError[] }

export interface Documents {
  schema: GraphQLSchema
  /** Parses and validates a text with all limits of documents. Never throws. */
  prepare(text: string): Prepared
}

/** The most documents that are kept, and the most characters of one: longer ones are prepared each time. */
const most = { documents: 1000, length: 8192 }

/** Limits of a document, in addition to those of its cost (operationLimits). */
const documentLimits = { tokens: 2000, aliases: 30, directives: 50 }

/** The least recently used document is dropped first. */
export function createDocuments(log: Log): Documents {
  const schema = schemaOf()
  const kept = new BoundedMap<string, Prepared>(most.documents)
  return {
    schema,
    prepare(text) {
      const prepared = kept.get(text) ?? prepareText(schema, text, log)
      if (text.length <= most.length) kept.set(text, prepared)
      return prepared
    },
  }
}

/** Faults are told without literal values and suggestions, with the codes that Yoga and Apollo give them. */
function prepareText(schema: GraphQLSchema, text: string, log: Log): Prepared {
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

function refused(errors: readonly GraphQLError[], code: string): Prepared {
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
