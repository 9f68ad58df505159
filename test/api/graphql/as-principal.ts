/** Executes a root field in this process, as a platform tool does: for keys that the HTTP route would refuse. */
import { execute, parse, subscribe, type ExecutionResult } from 'graphql'
import { makeContext } from '../../../src/api/graphql/builder/context.ts'
import type { App } from '../../../src/app.ts'
import { principalById } from '../../../src/domain/access/index.ts'
import { documentOf, schema, type RootField } from './minimal-input.ts'

/** The result for the key with this id; for a subscription, whether its stream opens. */
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
