/** A root field answered in this process, as a platform tool would: for keys that GraphQL refuses before anything is looked at. */
import { execute, parse, subscribe, type ExecutionResult } from 'graphql'
import { makeContext } from '../../../src/api/graphql/context.ts'
import type { App } from '../../../src/app.ts'
import { principalById } from '../../../src/domain/access/index.ts'
import { documentOf, schema, type RootField } from './minimal-input.ts'

/** The answer to the key of that id; of a stream whether it opens. */
export async function answerAs(
  { services, models, ctxOf }: App,
  keyId: string,
  root: RootField,
  variables: Record<string, unknown>,
): Promise<ExecutionResult> {
  const principal = (await principalById(services.db, keyId, services.clock.now()))!
  const contextValue = makeContext(ctxOf(principal), models, 'test')
  const asked = { schema, document: parse(documentOf(root)), contextValue }
  if (root.kind !== 'subscription') return execute({ ...asked, variableValues: variables })
  const answer = await subscribe({ ...asked, variableValues: { ...variables, after: '0' } })
  if (!(Symbol.asyncIterator in answer)) return answer
  await answer.return?.(undefined as never)
  return { data: { [root.name]: {} } }
}
