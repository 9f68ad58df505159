/** Documents that are parsed and validated once, by their text. Bounded, because callers choose the texts. */
import { GraphQLError, type DocumentNode, type GraphQLSchema } from 'graphql'
import type { Log } from '../../core/log.ts'
import { maskError } from './errors.ts'
import { schemaOf } from './schema.ts'
import type { Yoga } from './yoga.ts'

/** A document that may run, or why it is refused. */
export type Prepared = { document: DocumentNode } | { errors: readonly GraphQLError[] }

export interface Documents {
  schema: GraphQLSchema
  /** Parses and validates a text with all limits of documents. Never throws. */
  prepare(text: string): Prepared
}

/** The most documents that are kept, and the most characters of one: longer ones are prepared each time. */
const most = { documents: 1000, length: 8192 }

/** Prepares documents with the plugins of Yoga, which hold the limits. The least recently used document is dropped first. */
export function createDocuments(yoga: Yoga, log: Log): Documents {
  const schema = schemaOf()
  const kept = new Map<string, Prepared>()
  return {
    schema,
    prepare(text) {
      const before = kept.get(text)
      const prepared = before ?? prepareWith(yoga, schema, text, log)
      if (text.length > most.length) return prepared
      if (before) kept.delete(text)
      else if (kept.size >= most.documents) kept.delete(kept.keys().next().value!)
      kept.set(text, prepared)
      return prepared
    },
  }
}

function prepareWith(yoga: Yoga, schema: GraphQLSchema, text: string, log: Log): Prepared {
  try {
    const { parse, validate } = yoga.getEnveloped({})
    const document = parse(text) as DocumentNode
    const errors = validate(schema, document) as readonly GraphQLError[]
    return errors.length > 0 ? { errors } : { document }
  } catch (error) {
    return { errors: [maskError(error, log)] }
  }
}
