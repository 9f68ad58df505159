/** Creates the tools of chosen operations, one by one, and keeps how each went. */
import { useRef, useState } from 'react'
import { refusalOf } from '../../../api/outcome.ts'
import { answerOf, useMutation, type Payload } from '../../../api/query.ts'
import type { ResultOf } from '../../../api/document.ts'
import { useProject } from '../../../api/session.ts'
import { createToolMutation } from '../documents.ts'
import type { Api, Operation } from './openapi.ts'
import { changesThings, toolOfOperation, type Choices } from './openapi-tool.ts'
import { t } from '../../../texts/texts.tsx'

/** How one operation went: the id of its tool, or why there is none. */
export interface CreationOutcome {
  name: string
  id: string | null
  why: string | null
}

/** Whether a person decides about each call: the proposal, or the other. */
export const asksFirst = (operation: Operation, turned: ReadonlySet<string>): boolean =>
  changesThings(operation) !== turned.has(operation.name)

export function useCreation(api: Api) {
  const projectId = useProject()
  const { mutate } = useMutation(createToolMutation)
  const [outcomes, setOutcomes] = useState<readonly CreationOutcome[]>([])
  const [total, setTotal] = useState(0)
  const [isRunning, setRunning] = useState(false)
  const stopped = useRef(false)
  const create = async (operation: Operation, choices: Choices): Promise<CreationOutcome> => {
    const { name } = operation
    const made = toolOfOperation(api, operation, choices)
    if ('why' in made) return { name, id: null, why: made.why }
    const result = await mutate({ input: { ...made.input, projectId } })
    const answer = result && answerOf(result)
    if (!answer) {
      stopped.current = true
      return {
        name,
        id: null,
        why: t('The server did not answer: it may have created the tool. Nothing more was sent.'),
      }
    }
    const refused = refusalOf(answer)
    if (!refused)
      return { name, id: (answer as Payload<ResultOf<typeof createToolMutation>>).tool.id, why: null }
    const issues = refused.issues.map(({ path, message }) => `${path.slice(1).join('.')} ${message}`)
    return { name, id: null, why: issues.length > 0 ? issues.join('; ') : refused.message }
  }
  const run = async (
    choices: Omit<Choices, 'asksFirst'>,
    chosen: ReadonlySet<string>,
    turned: ReadonlySet<string>,
  ) => {
    const operations = api.operations.filter(({ name }) => chosen.has(name))
    stopped.current = false
    setOutcomes([])
    setTotal(operations.length)
    setRunning(true)
    for (const operation of operations) {
      if (stopped.current) break
      const outcome = await create(operation, { ...choices, asksFirst: asksFirst(operation, turned) })
      setOutcomes((before) => [...before, outcome])
    }
    setRunning(false)
  }
  return {
    outcomes,
    total,
    isRunning,
    run,
    stop: () => {
      stopped.current = true
    },
  }
}
