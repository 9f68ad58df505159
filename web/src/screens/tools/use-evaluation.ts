/** What the gate would say about the arguments as they are being written. */
import { useEffect, useState } from 'react'
import { readForeignJson, writeJson } from '../../../../src/core/exact-json.ts'
import { ask } from '../../api/client.ts'
import type { ResultOf } from '../../api/document.ts'
import { evaluateQuery } from './call-documents.ts'

/** Time without a key before the server is asked, in milliseconds. */
const quietMs = 300

export type Evaluation = ResultOf<typeof evaluateQuery>['evaluateGate']

interface EvaluationRequest {
  toolId: string
  action: string | null
  args: Record<string, unknown>
  version: number
}

/** The newest answer; null while there is none for these arguments. A failure is no news here: calling tells it. */
export function useEvaluation({ toolId, action, args, version }: EvaluationRequest): Evaluation | null {
  const key = writeJson([toolId, action, args, version])
  const [known, setKnown] = useState<{ key: string; evaluation: Evaluation } | null>(null)
  useEffect(() => {
    const run = new AbortController()
    const timer = setTimeout(() => {
      const [tool, chosen, values] = readForeignJson(key) as [string, string | null, Record<string, unknown>]
      ask(evaluateQuery, { toolId: tool, action: chosen, arguments: values }, run.signal).then(
        ({ evaluateGate }) => setKnown({ key, evaluation: evaluateGate }),
        () => {},
      )
    }, quietMs)
    return () => {
      clearTimeout(timer)
      run.abort()
    }
  }, [key])
  return known?.key === key ? known.evaluation : null
}
