/** Documents that are parsed and validated once, by their text. Bounded, because callers choose the texts. */
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import {
  GraphQLError,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type ValidationRule,
} from 'graphql'
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
    const document = parse(text, { maxTokens: documentLimits.tokens })
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
