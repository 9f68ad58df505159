/**
 * One execution and one serialisation of an event for all subscribers that ask the same: subscribers of a stream get the
 * same event objects while they are live, and the result is kept with the object. A subscriber that reads the table, or
 * comes late, has objects of its own and is served alone.
 */
import {
  execute,
  Kind,
  visit,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { writeJson } from '../../../core/json.ts'
import type { Log } from '../../../core/log.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { maskError, withoutHttp } from '../builder/errors.ts'
import { maskErrors, boundResult } from './operations.ts'

/** The results for one subscription of one subscriber. */
export interface ResultTexts {
  /** The result for an event as JSON; a promise only when something must be loaded. Never throws. */
  textOf(event: object): string | Promise<string>
}

/** A subscription as it was opened. Variables and context are the subscriber's own. */
export interface OpenedOperation {
  schema: GraphQLSchema
  document: DocumentNode
  operation: OperationDefinitionNode
  variableValues?: Record<string, unknown> | null | undefined
  contextValue: GraphQLContext
}

/** How long a result that was loaded is handed to others, in milliseconds: after it, an event shows newer rows. */
const loadedForMs = 500

interface Loaded {
  text: Promise<string | null>
  until: number
}

/** The results for one event: by what was asked, and by what was asked and who asked when it depends on the caller. */
interface ResultsOfEvent {
  same: Map<string, string>
  loaded: Map<string, Loaded>
}

const results = new WeakMap<object, ResultsOfEvent>()

/**
 * Results are shared between subscribers with the same operation and variables, those that only open the stream left out.
 * A result for which anything of the caller was read is shared only with the same principal, and only for half a second; one
 * with errors is not shared. `now` is a clock in milliseconds.
 */
export function resultTexts(
  opened: OpenedOperation,
  log: Log,
  now: () => number = () => performance.now(),
): ResultTexts {
  const { contextValue } = opened
  const asked = askedBy(opened)
  // Most results do not depend on the caller: no subscriber keeps a copy of its rights for them.
  const asker = () => `${asked} ${writeJson(contextValue.ctx.principal)}`
  const textAlone = async (event: object) => (await executed(opened, contextValue, event, log)).text
  return {
    textOf(event) {
      const known = resultsOf(event)
      const same = known.same.get(asked)
      if (same !== undefined) return same
      const before = known.loaded.size > 0 ? known.loaded.get(asker()) : undefined
      if (before && now() < before.until) return before.text.then((text) => text ?? textAlone(event))
      const use = { caller: false }
      const result = executed(opened, noticing(contextValue, use), event, log)
      if (!(result instanceof Promise)) {
        if (!use.caller && !result.failed) known.same.set(asked, result.text)
        return result.text
      }
      const text = result.then((done) => (done.failed ? null : done.text))
      known.loaded.set(asker(), { text, until: now() + loadedForMs })
      return result.then((done) => done.text)
    },
  }
}

function resultsOf(event: object): ResultsOfEvent {
  const known = results.get(event) ?? { same: new Map(), loaded: new Map() }
  results.set(event, known)
  return known
}

interface Executed {
  text: string
  failed: boolean
}

function executed(
  { schema, document, operation, variableValues }: OpenedOperation,
  contextValue: GraphQLContext,
  event: object,
  log: Log,
): Executed | Promise<Executed> {
  const operationName = operation.name?.value
  const finished = (result: ExecutionResult) =>
    textOf(maskErrors(boundResult(contextValue, result, log), log))
  const failed = (error: unknown) => textOf({ errors: [maskError(error, log)] })
  try {
    const rootValue = event
    const result = execute({ schema, document, rootValue, contextValue, variableValues, operationName })
    return result instanceof Promise ? result.then(finished).catch(failed) : finished(result)
  } catch (error) {
    return failed(error)
  }
}

function textOf(result: ExecutionResult): Executed {
  if (!result.errors) return { text: writeJson(result), failed: false }
  return { text: writeJson({ ...result, errors: result.errors.map(withoutHttp) }), failed: true }
}

/** What of the context says nothing about the caller. */
const ofEvent = new Set<PropertyKey>(['answer', 'renewLoaders'])

/** The context; reading anything of it that depends on the caller is noticed. */
function noticing(context: GraphQLContext, use: { caller: boolean }): GraphQLContext {
  return new Proxy(context, {
    get(target, name) {
      if (!ofEvent.has(name)) use.caller = true
      return Reflect.get(target, name)
    },
  })
}

const ids = new WeakMap<OperationDefinitionNode, number>()
let lastId = 0

/** The same text for operations whose results for an event are the same, whoever asks. Documents are cached by their text. */
function askedBy({ document, operation, variableValues }: OpenedOperation): string {
  if (!ids.has(operation)) ids.set(operation, ++lastId)
  const used = usedVariables(document, operation)
  const given = Object.entries(variableValues ?? {}).filter(([name]) => used.has(name))
  return `${ids.get(operation)} ${writeJson(given.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`
}

const variablesOf = new WeakMap<OperationDefinitionNode, ReadonlySet<string>>()

/** The variables of an operation that are used anywhere but in the arguments that open the stream, such as its cursor. */
function usedVariables(document: DocumentNode, operation: OperationDefinitionNode): ReadonlySet<string> {
  const known = variablesOf.get(operation)
  if (known) return known
  const opening = new Set<unknown>(
    operation.selectionSet.selections.flatMap((root) => (root.kind === Kind.FIELD ? root.arguments : [])),
  )
  const used = new Set<string>()
  visit(document, {
    VariableDefinition: () => false,
    Argument: (node) => (opening.has(node) ? false : undefined),
    Variable: ({ name }) => void used.add(name.value),
  })
  variablesOf.set(operation, used)
  return used
}
